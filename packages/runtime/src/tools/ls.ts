import { z } from "zod";
import type { EntryKind, OutputLimits, ToolContext } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { compileGlob } from "../paths/glob.ts";
import { ToolError } from "../protocol/errors.ts";
import { walk } from "./walk-folder.ts";
import type { Place, WalkEntry } from "./walk-folder.ts";

const args = () =>
  z.strictObject({
    path: z.string().min(1).default(".").describe("Folder to list"),
    recursive: z.boolean().default(false).describe("Include subfolders"),
    limit: z.int().min(1).optional().describe("Entries per page"),
    cursor: z.string().optional().describe("The next_page_cursor"),
    ignore_globs: z.array(z.string().min(1)).max(100).optional().describe("Names to skip, for example node_modules"),
    all: z.boolean().default(false).describe("Also list names of sensitive files"),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    path: z.string(),
    entries: z.array(z.strictObject({ path: z.string(), kind: z.enum(["file", "directory", "link", "other"]) })),
  });

export const ls = defineTool({
  name: "ls",
  version: "1.0.0",
  description: "List a folder. Folders end in /, links in @.",
  args,
  returns,
  aliases: [{ name: "list_dir", adapt: adaptListDir }],
  required_permissions: ["fs.read"],
  side_effects: ["none"],
  risk: "low",
  touches: ({ path, all }) => [{ path, access: "list", show_sensitive: all }],
  permission_class: "file",
  audit_operation: "read",
  concurrency_safe: true,
  read_only: true,
  idempotent: true,
  search_hint: "list folder directory entries names",

  async execute(given, context) {
    const page = await readPage(given, context);
    const { entries, last, unreadable } = page;
    return {
      data: { path: given.path, entries: entries.map(({ path, kind }) => ({ path, kind })) },
      stdout: entries.map((entry) => entry.line).join(""),
      stderr: unreadable.map((complaint) => `${makeVisible(complaint)}\n`).join(""),
      ...(last === undefined ? {} : { next_page_cursor: context.cursors.seal(last, boundTo(given)) }),
      truncated_lines: page.full === "lines",
      truncated_bytes: page.full === "bytes",
      meta: page.hidden > 0 ? { hidden: page.hidden } : {},
    };
  },
});

interface Row {
  readonly path: string;
  readonly kind: EntryKind;
  readonly line: string;
}

interface Page {
  readonly entries: readonly Row[];
  /** The last entry shown, if there are more after it. */
  readonly last?: Place;
  readonly full?: "limit" | "lines" | "bytes";
  readonly hidden: number;
  readonly unreadable: readonly string[];
}

async function readPage(given: Args, { files, cursors, limits, signal }: ToolContext): Promise<Page> {
  const start =
    given.cursor === undefined ? undefined : placeSchema().parse(cursors.open(given.cursor, boundTo(given)));
  const unreadable: string[] = [];
  const limit = Math.min(given.limit ?? limits.lines, limits.lines);
  const steps = walk(files, {
    path: given.path,
    recursive: given.recursive,
    show_sensitive: given.all,
    skip: skipper(given.ignore_globs ?? []),
    start,
    page: limit,
    onUnreadable: (error) => unreadable.length < MAX_COMPLAINTS && unreadable.push(error.message),
  });
  const rows: Row[] = [];
  let bytes = 0;
  let last: Place | undefined;
  let hidden = 0;
  for await (const step of steps) {
    signal.throwIfAborted();
    if ("hidden" in step) {
      hidden += step.hidden;
      continue;
    }
    const row = toRow(step);
    bytes += Buffer.byteLength(row.line);
    const full = whatIsFull(rows.length, bytes, { limit, limits });
    if (full !== undefined && last !== undefined) return { entries: rows, last, full, hidden, unreadable };
    rows.push(row);
    last = { keys: step.keys, folder: step.kind === "directory" };
  }
  return { entries: rows, hidden, unreadable };
}

const MAX_COMPLAINTS = 20;

const placeSchema = () => z.strictObject({ keys: z.array(z.string()).min(1), folder: z.boolean() });

function whatIsFull(
  rows: number,
  bytes: number,
  { limit, limits }: { limit: number; limits: OutputLimits },
): Page["full"] {
  if (bytes > limits.bytes) return "bytes";
  if (rows < limit) return undefined;
  return limit === limits.lines ? "lines" : "limit";
}

const MARKS: Readonly<Record<EntryKind, string>> = { directory: "/", link: "@", file: "", other: "" };

function toRow({ names, kind }: WalkEntry): Row {
  const path = names.join("/");
  return { path, kind, line: `${makeVisible(path)}${MARKS[kind]}\n` };
}

function skipper(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.map((pattern) => {
    try {
      return compileGlob(pattern);
    } catch (error) {
      throw new ToolError(
        "InvalidArguments",
        `Cannot use ignore_globs: ${(error as Error).message}`,
        { field: "ignore_globs" },
        error,
      );
    }
  });
  return (path) => globs.some((glob) => glob.matches(path));
}

/** The cursor is bound to this listing. */
function boundTo({ path, recursive, ignore_globs = [], all }: Args): unknown {
  return ["ls", path, recursive, ignore_globs, all];
}

/** Names that other clients use for the same tool. */
function adaptListDir(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { target_directory, dir_path, relative_workspace_path, ignore, ...rest } = given;
  const path = target_directory ?? dir_path ?? relative_workspace_path;
  return {
    ...(path === undefined ? {} : { path }),
    ...(ignore === undefined ? {} : { ignore_globs: ignore }),
    ...rest,
  };
}
