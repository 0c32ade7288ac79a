/** Compares our figures with a baseline measured in the same run: machines are noisy, ratios are not. `npm run bench [-- name]` */
import { rmSync } from "node:fs";
import { benchColdStart } from "./cold-start.ts";
import { benchCommands, benchDecisions } from "./commands.ts";
import { benchChanges, benchRead } from "./files.ts";
import { benchLs } from "./ls.ts";
import { benchModel } from "./model.ts";
import { scratch } from "./place.ts";
import { benchPromptCache } from "./prompt-cache.ts";
import { benchQueue } from "./queue.ts";
import { benchRecord } from "./record.ts";
import { benchReplay } from "./replay.ts";
import { benchSearch } from "./search.ts";

const BENCHES: Readonly<Record<string, () => Promise<void> | void>> = {
  ls: benchLs,
  read: benchRead,
  changes: benchChanges,
  search: benchSearch,
  commands: benchCommands,
  decisions: benchDecisions,
  record: benchRecord,
  replay: benchReplay,
  model: benchModel,
  "prompt-cache": benchPromptCache,
  queue: benchQueue,
  "cold-start": benchColdStart,
};

const wanted = process.argv.slice(2);
try {
  for (const [name, bench] of Object.entries(BENCHES)) if (wanted.length === 0 || wanted.includes(name)) await bench();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
