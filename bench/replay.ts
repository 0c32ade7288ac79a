import { spawn } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createRuntime } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { Runtime } from "@autonous/runtime";
import { peakOf } from "./measure.ts";
import { makeWorkspace } from "./place.ts";

const PROGRAM = join(import.meta.dirname, "../packages/autonous/src/cli/bin.ts");
const CALLS = 1_000_000;
/** Calls per run. Only UNLIKE runs differ; the others are hard links to the same files. */
const CALLS_PER_RUN = 10_000;
const UNLIKE = 20;

/** Stands in what is recorded for a number that is another one in each call. */
const NUMBER = "31415926";
const FILE = `src/part/module-${NUMBER}.ts`;

/** What an agent does in a day's work; `times` of 50. */
// oxfmt-ignore
const MIX: readonly { readonly times: number; readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[] = [
  { times: 15, tool: "read",  args: { path: FILE } },
  { times: 5,  tool: "ls",    args: { path: "src/part" } },
  { times: 9,  tool: "grep",  args: { pattern: `value${NUMBER}`, path: "src" } },
  { times: 2,  tool: "find",  args: { name_pattern: "*.ts" } },
  { times: 7,  tool: "edit",  args: { path: FILE, find: "value", replace: "result" } },
  { times: 5,  tool: "write", args: { path: FILE, content: `export const value${NUMBER} = 1;\n` } },
  { times: 1,  tool: "read",  args: { path: "../elsewhere.txt" } },
  { times: 1,  tool: "delete_file", args: { path: FILE } },
  { times: 4,  tool: "bash",  args: { cmd: `npm test -- src/part/module-${NUMBER}.test.ts 2>&1 | tail -n 20` } },
  { times: 1,  tool: "bash",  args: { cmd: "git status --short && git push origin main" } },
];

/** Another policy than the one that the calls were made under. */
const CONFIGURATION = {
  rules: [
    { effect: "confirm", tool: "edit", path: "src/part/**" },
    { effect: "deny", path: "private/**" },
    { effect: "allow", command: "git push *" },
  ],
};

/** A million recorded decisions made again, by the command that people use. */
export async function benchReplay(): Promise<void> {
  const workspace = makeWorkspace("replay");
  const state_dir = `${workspace}-state`;
  await recordRuns(workspace, state_dir);
  const config = `${workspace}-config.json`;
  writeFileSync(config, JSON.stringify(CONFIGURATION));
  const words = ["policy", "replay", "--config", config, "--root", workspace, "--state-dir", state_dir, "--json"];
  const start = performance.now();
  const { stdout, peak_mb } = await follow(words);
  const seconds = (performance.now() - start) / 1000;
  const { records, differ, not_judged } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  if (records !== CALLS || JSON.stringify(not_judged) !== "[]" || differ === 0)
    throw new Error(`It was not replayed as it is: ${stdout.slice(0, 500)}`);
  const rate = Math.round(CALLS / seconds).toLocaleString("en");
  console.log(
    `replay of ${CALLS.toLocaleString("en")} recorded decisions: ${seconds.toFixed(1)} s, ${rate} a second, at most ${peak_mb} MB of memory`,
  );
}

/** Really made once each, then written down again and again with other numbers. */
async function recordRuns(workspace: string, state_dir: string): Promise<void> {
  mkdirSync(join(workspace, "src/part"), { recursive: true });
  const runtime = await createRuntime({ roots: [workspace], state_dir });
  const lines = await recordCalls(runtime, workspace);
  await runtime.close();
  const files: string[] = [];
  for (let run = 0; run < CALLS / CALLS_PER_RUN; run++) {
    const folder = join(state_dir, "runs", makeId("run", Date.now() + run));
    mkdirSync(folder);
    const file = join(folder, "events.jsonl");
    const known = files[run % UNLIKE];
    if (known === undefined) writeFileSync(file, repeated(lines, run));
    else linkSync(known, file);
    files.push(file);
  }
}

async function recordCalls(runtime: Runtime, workspace: string): Promise<string> {
  const calls = MIX.flatMap(({ times, ...call }) => Array.from({ length: times }, () => call));
  for (const { tool, args } of calls) {
    writeFileSync(join(workspace, FILE), "export const value = 1;\n");
    await runtime.call({ name: tool, args: { ...args } });
  }
  const file = join(runtime.state_dir, "runs", runtime.run_id, "events.jsonl");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, ""); // those are counted with the others
  return text;
}

function repeated(text: string, run: number): string {
  const times = CALLS_PER_RUN / MIX.reduce((sum, each) => sum + each.times, 0);
  return Array.from({ length: times }, (_, i) => text.replaceAll(NUMBER, String(run * times + i))).join("");
}

/** Runs the command line to its end. Gives what it said and how much memory it had at most. */
async function follow(words: readonly string[]): Promise<{ readonly stdout: string; readonly peak_mb: number }> {
  const child = spawn(process.execPath, ["--conditions=@autonous/source", PROGRAM, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  let peak_kb = 0;
  const timer = setInterval(() => (peak_kb = Math.max(peak_kb, peakOf(child.pid ?? 0))), 100);
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, code] = await Promise.all([buffer(child.stdout), closed]);
  clearInterval(timer);
  if (code !== 0) throw new Error(`The replay ended with ${code}`);
  return { stdout: stdout.toString(), peak_mb: Math.round(peak_kb / 1024) };
}
