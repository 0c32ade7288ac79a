import { z } from "zod";
import type { ToolContext } from "../contract/context.ts";
import type { SearchLine, LinePlace, NameFilter, TextQuery } from "../contract/search.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { compileGlob } from "../paths/glob.ts";
import { ToolError } from "../protocol/errors.ts";
import { startPage } from "./grep-pages.ts";
import type { GrepMode, GrepPage } from "./grep-pages.ts";

/** Longer patterns are not useful, and the system limits the length of an argument. */
const MAX_PATTERN = 20_000;

const args = () =>
  z.strictObject({
    pattern: z
      .string()
      .min(1)
      .max(MAX_PATTERN)
      .refine((text) => !text.includes("\0"), { error: String.raw`it contains a NUL character; write \x00` })
      .describe("Regular expression (Rust syntax, no look-around)"),
    path: z.string().min(1).default(".").describe("Folder or file to search"),
    glob: z.string().min(1).optional().describe("Only files that match: *.ts, src/**/*.ts"),
    type: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: "only letters, digits, _ and - are allowed" })
      .optional()
      .describe("Only files of this type: ts, py, rust"),
    limit: z.int().min(1).optional().describe("Matches (or files) per page"),
    head_limit: z.int().min(1).optional().describe("Alias of limit"),
    cursor: z.string().optional().describe("The next_page_cursor"),
    multiline: z
      .boolean()
      .default(false)
      .describe(String.raw`Match across lines; . matches \n too`),
    "-i": z.boolean().default(false).describe("Ignore case"),
    context: z.int().min(0).max(100).default(0).describe("Lines around each match"),
    files_only: z.boolean().default(false).describe("Only file names"),
    count_only: z.boolean().default(false).describe("Only the number of matching lines per file"),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    path: z.string(),
    matches: z.array(z.strictObject({ path: z.string(), line: z.int(), text: z.string() })),
    files: z.array(z.string()).optional(),
    counts: z.array(z.strictObject({ path: z.string(), count: z.int() })).optional(),
    /** The search is complete: there is nothing after this page. */
    complete: z.boolean(),
    summary: z.string(),
  });

export const grep = defineTool({
  name: "grep",
  version: "1.0.0",
  description:
    "Search the text of files with a regular expression. Returns file:line:text in path order; .gitignore is respected.",
  args,
  returns,
  required_permissions: ["fs.read"],
  side_effects: ["none"],
  risk: "low",
  touches: ({ path }) => [{ path, access: "read" }],
  permission_class: "file",
  audit_operation: "read",
  concurrency_safe: true,
  read_only: true,
  idempotent: true,
  search_hint: "search text content files regular expression pattern rg ripgrep",

  async execute(given, context) {
    const complaints: string[] = [];
    const { page, isComplete } = await readPage(given, context, complaints);
    const next = isComplete ? undefined : page.last;
    return {
      data: { path: given.path, matches: [], ...page.data, complete: isComplete, summary: summaryOf(page, isComplete) },
      stdout: page.text,
      stderr: complaints.map((complaint) => `${makeVisible(complaint)}\n`).join(""),
      ...(next === undefined ? {} : { next_page_cursor: context.cursors.seal(next, boundTo(given)) }),
      truncated_lines: page.full === "lines",
      truncated_bytes: page.full === "bytes",
    };
  },
});

const placeSchema = () => z.strictObject({ key: z.string(), line: z.int() });

async function readPage(
  given: Args,
  { search, cursors, limits, signal }: ToolContext,
  complaints: string[],
): Promise<{ page: GrepPage; isComplete: boolean }> {
  const after =
    given.cursor === undefined ? undefined : placeSchema().parse(cursors.open(given.cursor, boundTo(given)));
  const limit = Math.min(given.limit ?? limits.lines, given.head_limit ?? limits.lines, limits.lines);
  const page = startPage(modeOf(given), { limit, limits, context: given.context, after, pathOf: pathIn(given.path) });
  for await (const line of search.text(given.path, queryOf(given, after, complaints))) {
    signal.throwIfAborted();
    if (!page.add(line)) return { page, isComplete: false };
  }
  return { page, isComplete: page.finish() };
}

function modeOf({ files_only, count_only }: Args): GrepMode {
  if (files_only && count_only) {
    throw new ToolError("InvalidArguments", 'Cannot search: "files_only" and "count_only" exclude each other', {
      field: "count_only",
    });
  }
  return files_only ? "files" : count_only ? "counts" : "lines";
}

function queryOf(given: Args, after: LinePlace | undefined, complaints: string[]): TextQuery {
  const { pattern, multiline, type, files_only, count_only } = given;
  return {
    pattern,
    multiline,
    ignore_case: given["-i"],
    context: files_only || count_only ? 0 : given.context,
    first_only: files_only,
    ...(given.glob === undefined ? {} : { glob: filterOf(given.glob, "glob") }),
    ...(type === undefined ? {} : { type }),
    ...(after === undefined ? {} : { after }),
    onComplaint: (complaint) => complaints.push(complaint),
  };
}

/** An invalid glob is the caller's to fix. */
export function filterOf(pattern: string, field: string): NameFilter {
  try {
    const { matches } = compileGlob(pattern);
    return { pattern, matches };
  } catch (error) {
    throw new ToolError("InvalidArguments", `Cannot use ${field}: ${(error as Error).message}`, { field }, error);
  }
}

/** A path below the searched one, usable in another call. */
export function pathIn(searched: string): (found: Pick<SearchLine, "path">) => string {
  const folder = searched.replace(/^(?:\.\/+)+(?=.)/, "").replace(/(?<=.)\/+$/, "");
  if (folder === ".") return ({ path }) => path;
  return ({ path }) => (path === "" ? folder : folder === "/" ? `/${path}` : `${folder}/${path}`);
}

function summaryOf({ count, unit }: GrepPage, isComplete: boolean): string {
  if (count === 0) return isComplete ? "No match" : "No match so far";
  const many = `${count} ${count === 1 ? unit.one : unit.many}`;
  return isComplete ? many : `${many} on this page; more follow`;
}

/** The cursor is bound to this search. */
function boundTo({ cursor: _cursor, limit: _limit, head_limit: _head, ...rest }: Args): unknown {
  return ["grep", rest];
}
