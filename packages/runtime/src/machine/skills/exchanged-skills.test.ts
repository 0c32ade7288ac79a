import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { house } from "../../../../../test/support/skill-house.ts";
import { NO_CHANGES } from "../../contract/command-changes.ts";
import type { ToolSkills } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";

const PLACE = "root/.agents/skills";
const skill = (folder: string, word: string): Record<string, string> => ({
  [`${folder}/SKILL.md`]: `---\nname: kit\ndescription: helps\n---\nThe ${word} text\n`,
  [`${folder}/ref.md`]: `The ${word} reference\n`,
  [`${folder}/scripts/a.sh`]: `echo the ${word} script\n`,
  [`${folder}/scripts/b.sh`]: `echo the ${word} helper\n`,
});

/** The trusted content, and what another process swaps in and out: files, folders, parents and links. */
const PAIRS = [
  [`${PLACE}/kit/SKILL.md`, "root/other/kit/SKILL.md"],
  [`${PLACE}/kit/ref.md`, "root/other/link.md"],
  [`${PLACE}/kit/scripts/b.sh`, "root/other/kit/scripts/b.sh"],
  [`${PLACE}/kit/scripts`, "root/other/kit/scripts"],
  [`${PLACE}/kit`, "root/other/kit"],
  [`${PLACE}/kit`, "root/other/linked"],
  [PLACE, "root/other/skills"],
] as const;

/** Node.js has no call to exchange two names, so for a moment neither exists. */
const EXCHANGE = `
  const { renameSync } = require("node:fs");
  const { workerData: { pairs, aside }, parentPort } = require("node:worker_threads");
  let isOver = false;
  parentPort.on("message", () => (isOver = true));
  function exchange(one, other) {
    renameSync(one, aside);
    renameSync(other, one);
    renameSync(aside, other);
  }
  (async () => {
    for (let at = 0; !isOver; at++) {
      const [one, other] = pairs[at % pairs.length];
      exchange(one, other);
      exchange(one, other);
      await new Promise((resolve) => setTimeout(resolve, at % 3));
    }
    parentPort.close();
  })();
`;

/** Everything that a call can get from a skill, as one text. */
const USES: readonly ((skills: ToolSkills) => Promise<string>)[] = [
  async (skills) => (await skills.read({ name: "kit" })).body,
  async (skills) => {
    const { file } = await skills.openFile({ name: "kit" }, "ref.md");
    return (await file.read(0, 1000)).toString();
  },
  async (skills) => {
    const script = await skills.openScript({ name: "kit" }, { path: "scripts/a.sh" });
    try {
      await script.run([], { workdir: "sandbox", timeout_ms: 1000, onOutput: () => {} });
      return copied.join("");
    } finally {
      script.close();
    }
  },
];

/** From the copy that runs: the script and the helpers it would call. */
let copied: readonly string[] = [];

test("from a skill whose files, folders and links are swapped during use, only trusted content is returned or run", async () => {
  const trusted = new Set<string>();
  const files = {
    ...skill(`${PLACE}/kit`, "trusted"),
    ...skill("root/other/kit", "strange"),
    ...skill("root/other/skills/kit", "strange"),
    "root/other/linked": "-> kit",
    "root/other/link.md": "-> kit/ref.md",
  };
  const { path, skills: all, handle } = await house(files, { isTrusted: ({ digest }) => trusted.has(digest) });
  trusted.add((await all.index()).skills[0]?.digest ?? "");
  const skills = handle(async ({ environment: { SKILL_DIR = "" } }) => {
    const names = ["SKILL.md", "scripts/a.sh", "scripts/b.sh"];
    copied = await Promise.all(names.map((name) => readFile(join(SKILL_DIR, name), "utf8")));
    return { exit_code: 0, signal: null, ended_by: "itself", sandbox: "none", changes: NO_CHANGES };
  });
  const pairs = PAIRS.map((pair) => pair.map((name) => join(path, name)));
  const worker = new Worker(EXCHANGE, { eval: true, workerData: { pairs, aside: join(path, "root/other/aside") } });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.postMessage("end");
    await ended;
  });

  const outcomes = new Set<string>();
  const hasMetBoth = (): boolean => outcomes.has("used") && outcomes.has("ToolNotAllowed");
  for (let at = 0; at < 600 || !hasMetBoth(); at++) {
    try {
      const text = await USES[at % USES.length]?.(skills);
      expect(text).toContain("trusted");
      expect(text).not.toContain("strange");
      outcomes.add("used");
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      outcomes.add(error.code);
    }
  }
});
