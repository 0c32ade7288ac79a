import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { CallOptions, RuntimeOptions, ToolCallResult } from "@autonous/runtime";

/** A file in the notation of the cases; a name that ends in "/" is a folder. */
type FileContent =
  | string
  | null
  | { readonly repeat_lines: number }
  | { readonly line_prefix: string; readonly fill: string; readonly fill_count: number; readonly lines: number }
  | { readonly one_line_chars: number; readonly with?: string }
  | { readonly base64: string }
  | { readonly symlink_to: string }
  | { readonly content: string; readonly mode: string };

export type Files = Readonly<Record<string, FileContent>>;

/** Paths to contents, one character per byte; links are written `-> target`. Folders are left out. */
export type Tree = Readonly<Record<string, string>>;

export interface Workspace {
  readonly root: string;
  call(name: string, args: unknown, options?: CallOptions): Promise<ToolCallResult>;
  /** The whole folder that the root is in, so that what happens outside shows too. */
  tree(): Tree;
  has(tool: string): boolean;
}

/** A real folder with a real runtime that grants every request. The root is `work/`. */
export async function inWorkspace<Result>(
  files: Files,
  options: Partial<RuntimeOptions>,
  work: (workspace: Workspace) => Promise<Result>,
): Promise<Result> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-corpora-")));
  const place = join(folder, "place");
  const root = join(place, "work");
  mkdirSync(root, { recursive: true });
  for (const [name, content] of Object.entries(files)) makeFile(join(root, name), content);
  const runtime = await createRuntime({
    roots: [root],
    state_dir: join(folder, "state"),
    onApproval: () => ({ answer: "grant" }),
    ...options,
  });
  try {
    const names = new Set(runtime.tools().map((tool) => tool.name));
    return await work({
      root,
      call: (name, args, callOptions) => runtime.call({ name, args }, callOptions),
      tree: () => Object.fromEntries(entriesOf(place, "")),
      has: (tool) => names.has(tool),
    });
  } finally {
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeFile(path: string, content: FileContent): void {
  const isFolder = path.endsWith("/");
  mkdirSync(isFolder ? path : dirname(path), { recursive: true });
  if (isFolder || content === null) return;
  if (typeof content === "object" && "symlink_to" in content) symlinkSync(content.symlink_to, path);
  else writeFileSync(path, bytesOf(content));
  if (typeof content === "object" && "mode" in content) chmodSync(path, Number.parseInt(content.mode, 8));
}

function bytesOf(content: Exclude<FileContent, null | { readonly symlink_to: string }>): Buffer {
  if (typeof content === "string") return Buffer.from(content);
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  if ("content" in content) return Buffer.from(content.content);
  return Buffer.from(generate(content));
}

type Generated = Extract<
  FileContent,
  { readonly repeat_lines: number } | { readonly lines: number } | { readonly one_line_chars: number }
>;

function generate(content: Generated): string {
  if ("one_line_chars" in content) return "x".repeat(content.one_line_chars) + (content.with ?? "");
  const count = "lines" in content ? content.lines : content.repeat_lines;
  const line = (number: number): string =>
    "lines" in content
      ? content.line_prefix.replace("{i}", `${number}`) + content.fill.repeat(content.fill_count)
      : `Line ${number}`;
  return Array.from({ length: count }, (_, index) => line(index + 1)).join("\n");
}

function* entriesOf(folder: string, prefix: string): Iterable<[string, string]> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const facts = lstatSync(path);
    if (facts.isDirectory()) yield* entriesOf(path, `${prefix}${name}/`);
    else if (facts.isSymbolicLink()) yield [`${prefix}${name}`, `-> ${readlinkSync(path)}`];
    else yield [`${prefix}${name}`, readFileSync(path, "latin1")];
  }
}
