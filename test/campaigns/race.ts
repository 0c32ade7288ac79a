/**
 * Calls run while another process turns folders into links and back. Nothing of the outside may ever be seen.
 * `npm run campaign:race -- --ops 1000000`
 */
import { fork } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime } from "@autonous/runtime";

export interface RaceResult {
  readonly operations: number;
  /** Results that showed something of the outside. */
  readonly breaches: number;
  /** How the calls ended: `ok`, or the error's code. */
  readonly outcomes: Readonly<Record<string, number>>;
}

const CANARY = "canary-of-the-outside";

const CALLS = [
  { path: "flip" },
  { path: "deep/flip" },
  { path: "deep/deeper/flip" },
  { path: ".", recursive: true },
  { path: "deep", recursive: true },
  { path: "flip/../deep" },
] as const;

export async function runRace(operations: number): Promise<RaceResult> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-race-")));
  const root = join(folder, "root");
  const outside = join(folder, "outside");
  mkdirSync(join(root, "inside-link-target"), { recursive: true });
  mkdirSync(join(outside, "deeper/flip"), { recursive: true });
  for (const name of ["", "deeper", "deeper/flip"]) writeFileSync(join(outside, name, CANARY), CANARY);
  const flipper = fork(join(import.meta.dirname, "flip.ts"), [root, outside]);
  await new Promise((resolve) => flipper.once("message", resolve));
  const runtime = await createRuntime({ roots: [root], state_dir: join(folder, "state") });
  const outcomes: Record<string, number> = {};
  let breaches = 0;
  try {
    for (let i = 0; i < operations; i++) {
      const result = await runtime.call({ name: "ls", args: CALLS[i % CALLS.length] });
      if (JSON.stringify(result).includes(CANARY)) breaches++;
      const outcome = result.error?.code ?? "ok";
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (i % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    flipper.disconnect();
    await new Promise((resolve) => flipper.once("exit", resolve));
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return { operations, breaches, outcomes };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { ops: { type: "string", default: "100000" } } });
  const result = await runRace(Number(values.ops));
  console.log(JSON.stringify(result));
  process.exitCode = result.breaches === 0 ? 0 : 1;
}
