import { z } from "zod";
import type { EntryKind, ToolContext } from "../contract/context.ts";
import type { SearchNames, NamesQuery } from "../contract/search.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { filterOf, pathIn } from "./grep.ts";

const KINDS = {
  file: "file",
  f: "file",
  directory: "directory",
  d: "directory",
  link: "link",
  l: "link",
  any: undefined,
} as const;

const args = () =>
  z.strictObject({
    path: z.string().min(1).default(".").describe("Folder to search"),
    name_pattern: z.string().min(1).describe("Glob: *.ts matches names at any depth, src/**/*.ts paths below path"),
    max_depth: z.int().min(1).optional().describe("Levels to descend; 1 is the folder itself"),
    limit: z.int().min(1).optional().describe("Entries per page"),
    cursor: z.string().optional().describe("The next_page_cursor"),
    type: z.enum(["file", "directory", "link", "any", "f", "d", "l"]).default("any"),
    sort: z.enum(["path", "newest"]).default("path"),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    path: z.string(),
    entries: z.array(z.strictObject({ path: z.string(), kind: z.enum(["file", "directory", "link", "other"]) })),
    /** There is nothing after this page. */
    complete: z.boolean(),
  });

export const find = defineTool({
  name: "find",
  version: "1.0.0",
  description: "Find files and folders by name. Folders end in /, links in @; .gitignore is respected.",
  args,
  returns,
  aliases: [
    { name: "glob_file_search", adapt: adaptGlobFileSearch },
    { name: "glob", adapt: adaptGlob },
  ],
  required_permissions: ["fs.read"],
  side_effects: ["none"],
  risk: "low",
  touches: ({ path }) => [{ path, access: "list" }],
  permission_class: "file",
  audit_operation: "read",
  concurrency_safe: true,
  read_only: true,
  idempotent: true,
  search_hint: "find files folders by name glob pattern fd newest",

  async execute(given, context) {
    const { search, cursors, limits } = context;
    const after = given.cursor === undefined ? undefined : z.string().parse(cursors.open(given.cursor, boundTo(given)));
    const limit = Math.min(given.limit ?? limits.lines, limits.lines);
    const found = await search.names(given.path, queryOf(given, after, limit));
    const page = layOut(found, given, context);
    return {
      data: { path: given.path, entries: page.entries, complete: page.next === undefined },
      stdout: page.text,
      stderr: found.notes.map((note) => `${makeVisible(note)}\n`).join(""),
      ...(page.next === undefined ? {} : { next_page_cursor: cursors.seal(page.next, boundTo(given)) }),
      truncated_lines: page.next !== undefined && !page.isCut && limit === limits.lines,
      truncated_bytes: page.isCut,
      meta: { engine: found.engine, ...(found.hidden > 0 ? { hidden: found.hidden } : {}) },
    };
  },
});

function queryOf(given: Args, after: string | undefined, limit: number): NamesQuery {
  const kind = KINDS[given.type];
  return {
    filter: filterOf(given.name_pattern, "name_pattern"),
    order: given.sort,
    limit,
    ...(kind === undefined ? {} : { kind }),
    ...(given.max_depth === undefined ? {} : { max_depth: given.max_depth }),
    ...(after === undefined ? {} : { after }),
  };
}

interface Page {
  readonly entries: { readonly path: string; readonly kind: EntryKind }[];
  readonly text: string;
  /** The position to continue from, if there is more. */
  readonly next: string | undefined;
  /** The byte limit ended it. */
  readonly isCut: boolean;
}

const MARKS: Readonly<Record<EntryKind, string>> = { directory: "/", link: "@", file: "", other: "" };

/** As many entries as fit into the byte limit. */
function layOut(found: SearchNames, { path }: Args, { limits }: ToolContext): Page {
  const pathOf = pathIn(path);
  const entries: Page["entries"] = [];
  let text = "";
  let bytes = 0;
  let last: string | undefined;
  for (const entry of found.entries) {
    const shown = pathOf(entry);
    const line = `${makeVisible(shown)}${MARKS[entry.kind]}\n`;
    bytes += Buffer.byteLength(line);
    if (bytes > limits.bytes && last !== undefined) return { entries, text, next: last, isCut: true };
    entries.push({ path: shown, kind: entry.kind });
    text += line;
    last = entry.rank;
  }
  return { entries, text, next: found.next, isCut: false };
}

/** The cursor is bound to this list. */
function boundTo({ cursor: _cursor, limit: _limit, ...rest }: Args): unknown {
  return ["find", rest];
}

type LegacyArgs = Readonly<Record<string, unknown>>;

/** Callers of these names expect files, last changed first, and patterns that match anywhere. */
function adaptGlobFileSearch({ glob_pattern, target_directory, ...rest }: LegacyArgs): Record<string, unknown> {
  return {
    type: "file",
    sort: "newest",
    ...(target_directory === undefined ? {} : { path: target_directory }),
    ...(glob_pattern === undefined ? {} : { name_pattern: anywhere(glob_pattern) }),
    ...rest,
  };
}

function adaptGlob({ pattern, ...rest }: LegacyArgs): Record<string, unknown> {
  return { type: "file", sort: "newest", ...(pattern === undefined ? {} : { name_pattern: pattern }), ...rest };
}

function anywhere(pattern: unknown): unknown {
  if (typeof pattern !== "string" || !pattern.includes("/") || /^(?:\.?\/|\*\*\/)/.test(pattern)) return pattern;
  return `**/${pattern}`;
}
