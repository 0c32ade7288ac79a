import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import type { SandboxMode } from "@autonous/runtime/internal";
import { describeResult } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";
import { inWorkspace } from "./workspace.ts";
import type { Workspace } from "./workspace.ts";

interface BashCase {
  readonly name: string;
  readonly command?: string;
  readonly parallel?: readonly string[];
  readonly cwd?: string;
  readonly timeout_ms?: number;
  readonly is_background?: boolean;
  readonly abort_after_output?: string;
  readonly abort_after_ms?: number;
  readonly env_parent?: Readonly<Record<string, string>>;
  readonly exit?: number;
  readonly stdout?: string;
  readonly stdout_contains?: string;
  readonly stderr_contains?: string;
  readonly stdout_not_contains?: readonly string[];
  readonly also_preferably?: string;
  readonly error?: string;
  readonly timeout?: boolean;
  readonly aborted?: boolean;
  readonly truncated?: boolean | "lines";
  readonly max_ms?: number;
  readonly max_rss_growth_mb?: number;
  readonly no_survivors?: boolean;
  readonly absent_after?: readonly string[];
  readonly files_after?: Readonly<Record<string, string>>;
}

interface Seen {
  readonly result: ToolCallResult;
  readonly took_ms: number;
  readonly grown_mb: number;
  readonly root: string;
}

const MODES: readonly SandboxMode[] = ["required", "off"];

/** `bash-behaviour.json`, each case in the sandbox and without one, by real processes through the gate. */
export async function* runBash(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly BashCase[] };
  for (const sandbox of MODES) {
    for (const each of cases) {
      const id = sandbox === "off" ? "bare" : "sandboxed";
      const undo = setVariables(each.env_parent ?? {});
      try {
        yield await inWorkspace({}, { sandbox }, async (workspace): Promise<Verdict> => {
          const fault = await (each.is_background === true ? tryBackground : tryCase)(each, workspace);
          return fault === undefined ? { id, name: each.name } : { id, name: each.name, differs: fault };
        });
      } finally {
        undo();
      }
    }
  }
}

type Fault = NonNullable<Verdict["differs"]>;

async function tryCase(each: BashCase, workspace: Workspace): Promise<Fault | undefined> {
  const seen = await look(each, workspace);
  const facts = Object.entries(FACTS) as [keyof BashCase, (wanted: unknown, seen: Seen) => unknown][];
  const broken = facts.find(([key, hold]) => each[key] !== undefined && hold(each[key], seen) !== true);
  if (broken === undefined) return undefined;
  const [key] = broken;
  const { took_ms, grown_mb, result } = seen;
  return {
    expected: `${key} ${JSON.stringify(each[key])}`,
    got: `${Math.round(took_ms)} ms, ${Math.round(grown_mb)} MB, ${describeResult(result)}`,
  };
}

/** The facts that a case can state. */
// oxfmt-ignore
const FACTS: { readonly [Key in keyof BashCase]?: (wanted: NonNullable<BashCase[Key]>, seen: Seen) => unknown } = {
  exit:                (wanted, { result }) => result.payload?.exit_code === wanted,
  stdout:              (wanted, { result }) => result.payload?.stdout === wanted,
  stdout_contains:     (wanted, { result }) => result.payload?.stdout.includes(wanted),
  stderr_contains:     (wanted, { result }) => result.payload?.stderr.includes(wanted),
  stdout_not_contains: (wanted, { result }) => wanted.every((text) => result.payload?.stdout.includes(text) === false),
  also_preferably:     (wanted, { result }) => result.payload?.stdout.includes(wanted),
  error:               (_, { result }) => !result.ok && result.payload === null,
  timeout:             (_, { result }) => result.error?.code === "Timeout",
  aborted:             (_, { result }) => result.error?.code === "Cancelled",
  truncated:           (wanted, { result }) => isTruncated(result) === (wanted !== false),
  max_ms:              (wanted, { took_ms }) => took_ms <= wanted,
  max_rss_growth_mb:   (wanted, { grown_mb }) => grown_mb <= wanted,
  absent_after:        (wanted, { root }) => wanted.every((name) => !existsSync(join(root, name))),
  files_after:         (wanted, { root }) => Object.entries(wanted).every(([name, text]) => readFileSync(join(root, name), "utf8") === text),
};

function isTruncated({ payload }: ToolCallResult): boolean {
  return payload?.truncated_lines === true || payload?.truncated_bytes === true;
}

async function look(each: BashCase, { call, root }: Workspace): Promise<Seen> {
  await call("bash", { cmd: "true" }); // one-time preparation happens now
  const cancel = new AbortController();
  const before = process.memoryUsage.rss();
  const began = performance.now();
  let highest = before;
  const timer = setInterval(() => void (highest = Math.max(highest, process.memoryUsage.rss())), 5);
  const abort = each.abort_after_ms === undefined ? undefined : setTimeout(() => cancel.abort(), each.abort_after_ms);
  const options = {
    signal: cancel.signal,
    onProgress({ detail }: { readonly detail: string }) {
      if (each.abort_after_output !== undefined && detail.includes(each.abort_after_output)) cancel.abort();
    },
  };
  const commands = each.parallel ?? [each.command ?? ""];
  const results = await Promise.all(commands.map((cmd) => call("bash", argumentsOf(each, cmd), options)));
  const took_ms = performance.now() - began;
  clearInterval(timer);
  clearTimeout(abort);
  const [result] = results;
  if (result === undefined) throw new Error(`The case "${each.name}" has no command`);
  return { result, took_ms, grown_mb: (highest - before) / 1_048_576, root };
}

function argumentsOf({ cwd, timeout_ms, is_background }: BashCase, cmd: string): Readonly<Record<string, unknown>> {
  return {
    cmd,
    ...(cwd === undefined ? {} : { workdir: cwd }),
    ...(timeout_ms === undefined ? {} : { timeout_seconds: timeout_ms / 1000 }),
    ...(is_background === undefined ? {} : { is_background }),
  };
}

/** Starts a process, checks that it runs, stops it, checks that it ended. */
async function tryBackground(each: BashCase, { call }: Workspace): Promise<Fault | undefined> {
  const { payload } = await call("bash", argumentsOf(each, each.command ?? ""));
  const { background_id, pid } = (payload?.data ?? {}) as { readonly background_id?: string; readonly pid?: number };
  const stateNow = async (): Promise<unknown> => {
    const { payload: told } = await call("background_output", { background_id });
    return (told?.data as { readonly state?: string } | undefined)?.state;
  };
  const states = [await stateNow()];
  await call("background_stop", { background_id });
  states.push(await stateNow());
  const got = JSON.stringify({ pid: typeof pid, states });
  const expected = JSON.stringify({ pid: "number", states: ["running", "stopped"] });
  return got === expected ? undefined : { expected, got };
}

/** Returns a function that restores them. */
function setVariables(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
