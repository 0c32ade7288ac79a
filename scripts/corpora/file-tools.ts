import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { describeResult } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";
import { inWorkspace } from "./workspace.ts";
import type { Files, Tree, Workspace } from "./workspace.ts";

interface Expectation {
  readonly error?: string;
  readonly files_after_base64?: Readonly<Record<string, string>>;
}

interface FileToolCase extends Expectation {
  readonly tool: string;
  readonly files: Files;
  readonly args: Readonly<Record<string, unknown>>;
  readonly note?: string;
  readonly ok?: boolean;
  readonly peer_text?: string;
  readonly contains?: readonly string[];
  readonly not_contains?: readonly string[];
  readonly truncated?: false | "lines" | "bytes" | "matches";
  readonly next?: { readonly offset: number };
  readonly total_lines?: number;
  readonly output_lines?: number;
  readonly remaining?: number;
  readonly media?: string | null;
  readonly bytes_written?: number;
  readonly files_after?: Readonly<Record<string, string>>;
  readonly mode_after?: Readonly<Record<string, string>>;
  readonly still_symlink?: readonly string[];
  readonly expect_any_of?: readonly Expectation[];
  readonly results?: readonly string[];
  readonly order?: readonly string[];
  readonly matches?: number;
  readonly line?: number;
  readonly dangling_symlink?: string;
}

interface Seen {
  readonly result: ToolCallResult;
  readonly stdout: string;
  readonly lines: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
  readonly tree: Tree;
  readonly root: string;
}

/** `file-tools.json`: the other projects' facts, checked against our results. */
export async function* runFileTools(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly FileToolCase[] };
  for (const [index, each] of cases.entries()) {
    const id = `file-${String(index).padStart(2, "0")}`;
    const name = `${each.tool} ${each.note ?? JSON.stringify(each.args)}`;
    const [link, target] = each.dangling_symlink?.split(" -> ") ?? [];
    const files: Files = {
      ...each.files,
      ...(link === undefined || target === undefined ? {} : { [link]: { symlink_to: target } }),
    };
    yield await inWorkspace(files, {}, async (workspace): Promise<Verdict> => {
      if (!workspace.has(each.tool)) return { id, name, missing: each.tool };
      const faults = findFaults(each, await look(each, workspace));
      const [first] = faults;
      return first === undefined ? { id, name } : { id, name, differs: first };
    });
  }
}

async function look({ tool, args }: FileToolCase, workspace: Workspace): Promise<Seen> {
  const result = await workspace.call(tool, (ADAPTERS[tool] ?? ((given) => given))(args));
  const stdout = result.payload?.stdout ?? "";
  return {
    result,
    stdout,
    lines: stdout.split("\n").filter((line) => line !== ""),
    data: (result.payload?.data ?? {}) as Readonly<Record<string, unknown>>,
    tree: workspace.tree(),
    root: workspace.root,
  };
}

type Adapter = (args: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** Maps the other projects' arguments to ours. */
const ADAPTERS: Readonly<Record<string, Adapter>> = {
  edit: ({ old, new: replace, ...rest }) => ({ ...rest, find: old, replace }),
  find: ({ pattern, path = ".", ...rest }) => ({ ...rest, path, name_pattern: pattern }),
  // grep has no literal mode: escape the special characters.
  grep: ({ literal, pattern, ...rest }) => ({
    ...rest,
    pattern: literal === true ? String(pattern).replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&") : pattern,
  }),
};

interface Fault {
  readonly expected: string;
  readonly got: string;
}

/** The facts that a case can state; each returns why it does not hold. */
// oxfmt-ignore
const FACTS: { readonly [Key in keyof FileToolCase]?: (wanted: NonNullable<FileToolCase[Key]>, seen: Seen) => unknown } = {
  ok:           (wanted, { result }) => result.ok === wanted,
  error:        (_, { result }) => !result.ok,
  peer_text:    (wanted, { stdout }) => stdout === wanted,
  contains:     (wanted, { stdout }) => wanted.every((text) => squeeze(stdout).includes(squeeze(text))),
  not_contains: (wanted, { stdout }) => wanted.every((text) => !stdout.includes(text)),
  truncated:    (wanted, { result: { payload } }) => isTruncated(payload) === (wanted === "matches" ? "more" : wanted),
  next:         (wanted, { data }) => Number(data["end_line"]) + 1 === wanted.offset,
  total_lines:  (wanted, { data }) => data["total_lines"] === wanted,
  output_lines: (wanted, { lines }) => lines.length === wanted,
  remaining:    (wanted, { data }) => Number(data["total_lines"]) - Number(data["end_line"]) === wanted,
  media:        (wanted, { data }) => data["media_type"] === wanted,
  bytes_written: (wanted, { data }) => data["bytes_written"] === wanted,
  files_after:  (wanted, { tree }) => Object.entries(wanted).every(([name, text]) => tree[`work/${name}`] === Buffer.from(text).toString("latin1")),
  files_after_base64: (wanted, { tree }) => Object.entries(wanted).every(([name, text]) => tree[`work/${name}`] === Buffer.from(text, "base64").toString("latin1")),
  mode_after:   (wanted, { root }) => Object.entries(wanted).every(([name, mode]) => (statSync(join(root, name)).mode & 0o777) === Number.parseInt(mode, 8)),
  still_symlink: (wanted, { root }) => wanted.every((name) => lstatSync(join(root, name)).isSymbolicLink()),
  expect_any_of: (wanted, seen) => wanted.some((each) => findFaults(each, seen).length === 0),
  results:      (wanted, { lines }) => JSON.stringify(lines.toSorted()) === JSON.stringify(wanted.toSorted()),
  order:        (wanted, { lines }) => JSON.stringify(lines) === JSON.stringify(wanted),
  matches:      (wanted, { lines }) => lines.length === wanted,
  line:         (wanted, { stdout }) => stdout.includes(`:${wanted}:`),
  dangling_symlink: (wanted, { stdout }) => stdout.includes(wanted.split(" -> ")[0] ?? ""),
};

function findFaults(wanted: Partial<FileToolCase>, seen: Seen): Fault[] {
  const facts = Object.entries(FACTS) as [keyof FileToolCase, (wanted: unknown, seen: Seen) => unknown][];
  return facts
    .filter(([key, holds]) => wanted[key] !== undefined && holds(wanted[key] ?? "text/plain", seen) !== true)
    .map(([key]) => ({ expected: `${key} ${JSON.stringify(wanted[key])}`, got: describeResult(seen.result) }));
}

function isTruncated(payload: ToolCallResult["payload"]): "lines" | "bytes" | "more" | false {
  if (payload?.truncated_lines === true) return "lines";
  if (payload?.truncated_bytes === true) return "bytes";
  return payload?.next_page_cursor === undefined ? false : "more";
}

/** The other projects put a space after `file:line:`. */
function squeeze(text: string): string {
  return text.replaceAll(/([:-]\d+[:-]) /g, "$1");
}
