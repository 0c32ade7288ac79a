/**
 * Calls run while another process turns folders into links and back. Nothing of the outside may ever be seen or changed.
 * `npm run campaign:race -- --ops 1000000 [--only ls,read]`, and for sandboxed commands `-- --starts 20000`,
 * with `--apart` against a command of another process
 */
import { fork } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { raceCommands } from "./race-commands.ts";

export interface RaceResult {
  readonly operations: number;
  /** Results that showed something of the outside, and changes of the outside. */
  readonly breaches: number;
  /** How the calls ended: `ok`, or the error's code. */
  readonly outcomes: Readonly<Record<string, number>>;
}

const CANARY = "canary-of-the-outside";

/** Cheap ones come more often than those that start a process or wait for the disk. */
// oxfmt-ignore
const CALLS: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>>; readonly often?: number }[] = [
  { name: "ls",          args: { path: "flip" },                                         often: 8 },
  { name: "ls",          args: { path: "deep/flip" },                                    often: 8 },
  { name: "ls",          args: { path: "deep/deeper/flip" },                             often: 8 },
  { name: "ls",          args: { path: ".", recursive: true },                           often: 8 },
  { name: "ls",          args: { path: "flip/../deep" },                                 often: 8 },
  { name: "read",        args: { path: `flip/${CANARY}` },                               often: 8 },
  { name: "read",        args: { path: `deep/deeper/flip/${CANARY}` },                   often: 8 },
  { name: "read",        args: { path: `deep/flip/${CANARY}`, offset_bytes: 2 },         often: 8 },
  { name: "write",       args: { path: "flip/new.txt", content: "written" } },
  { name: "write",       args: { path: "deep/flip/made/new.txt", content: "written" } },
  { name: "write",       args: { path: "deep/flip/both.txt", content: "added", mode: "append" } },
  { name: "edit",        args: { path: "flip/both.txt", find: "canary", replace: "changed" } },
  { name: "delete_file", args: { path: `deep/deeper/flip/${CANARY}` } },
  { name: "delete_file", args: { path: "flip/new.txt" } },
  { name: "apply_patch", args: { patch_text: `*** Begin Patch\n*** Add File: flip/patched.txt\n+1\n*** Delete File: deep/flip/both.txt\n*** End Patch` } },
  { name: "grep",        args: { pattern: "canary" } },
  { name: "grep",        args: { pattern: "canary", path: "deep", files_only: true } },
  { name: "find",        args: { name_pattern: "*canary*" } },
];

/** Every file below a folder, with its content. */
function treeOf(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const isFile = (name: string): boolean => statSync(join(folder, name)).isFile();
  return JSON.stringify(names.map((name) => [name, isFile(name) ? readFileSync(join(folder, name), "utf8") : null]));
}

export async function runRace(operations: number, only?: readonly string[]): Promise<RaceResult> {
  const calls = CALLS.filter(({ name }) => only?.includes(name) !== false).flatMap(({ name, args, often = 1 }) =>
    Array.from({ length: often }, () => ({ name, args })),
  );
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-race-")));
  const root = join(folder, "root");
  const outside = join(folder, "outside");
  mkdirSync(join(root, "inside-link-target"), { recursive: true });
  mkdirSync(join(outside, "deeper/flip"), { recursive: true });
  for (const name of ["", "deeper", "deeper/flip"]) {
    for (const file of [CANARY, "both.txt"]) writeFileSync(join(outside, name, file), CANARY);
  }
  const before = treeOf(outside);
  const flipper = fork(join(import.meta.dirname, "flip.ts"), [root, outside]);
  await new Promise((resolve) => flipper.once("message", resolve));
  const runtime = await createRuntime({ roots: [root], state_dir: join(folder, "state"), profile: "autonomous" });
  const outcomes: Record<string, number> = {};
  let breaches = 0;
  try {
    for (let i = 0; i < operations; i++) {
      const { name = "ls", args } = calls[i % calls.length] ?? {};
      const result = await runtime.call({ name, args });
      if (JSON.stringify(shownOf(result)).includes(CANARY)) breaches++;
      const outcome = result.error?.code ?? "ok";
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (i % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    flipper.disconnect();
    await new Promise((resolve) => flipper.once("exit", resolve));
    await runtime.close();
    if (treeOf(outside) !== before) breaches++;
    rmSync(folder, { recursive: true, force: true });
  }
  return { operations, breaches, outcomes };
}

/** What a result shows beside the words of the call itself. */
function shownOf({ ok, payload }: ToolCallResult): unknown {
  if (!ok || payload === null) return [];
  const { path: _, removed: __, ...data } = (payload.data ?? {}) as Record<string, unknown>;
  return [payload.stdout, data];
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      ops: { type: "string" },
      only: { type: "string" },
      starts: { type: "string" },
      apart: { type: "boolean" },
    },
  });
  let breaches = 0;
  if (values.ops !== undefined || values.starts === undefined) {
    const result = await runRace(Number(values.ops ?? 100_000), values.only?.split(","));
    console.log(JSON.stringify(result));
    breaches += result.breaches;
  }
  if (values.starts !== undefined) {
    const result = await raceCommands(Number(values.starts), { apart: values.apart === true });
    console.log(JSON.stringify(result));
    breaches += result.breaches.length;
  }
  process.exitCode = breaches === 0 ? 0 : 1;
}
