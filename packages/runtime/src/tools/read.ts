import { z } from "zod";
import type { OpenedFile, ToolContext } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";
import { isStorageRef } from "../protocol/storage-ref.ts";
import { startsWithBom } from "../text/encoding.ts";
import { recogniseContent } from "../text/kinds.ts";
import { LINE_ENDS } from "../text/lines.ts";
import { adaptReadFile } from "./read-file.ts";
import { readPage } from "./read-page.ts";
import type { Page } from "./read-page.ts";
import { readExactly, surveyBytes, surveyFile } from "./survey-file.ts";
import type { Start, Survey } from "./survey-file.ts";

const args = () =>
  z
    .strictObject({
      path: z.string().min(1).describe("File to read; or a storage_ref of this run"),
      offset: z.int().min(0, "lines are counted from 1").optional().describe("First line, counted from 1"),
      limit: z.int().min(1).optional().describe("Lines per page"),
      offset_bytes: z.int().min(0).optional().describe("First byte, counted from 0"),
      limit_bytes: z.int().min(1).optional().describe("Bytes per page; offset then counts bytes too"),
      cursor: z.string().optional().describe("The next_page_cursor"),
    })
    .superRefine((given, { addIssue }) => {
      for (const [field, other, why] of CONTRADICTIONS) {
        if (given[field] === undefined || given[other] === undefined) continue;
        addIssue({ code: "custom", path: [field], message: `it cannot be combined with "${other}": ${why}` });
      }
      if (given.offset !== 0 || given.limit_bytes !== undefined) return;
      const message = "lines are counted from 1; omit it to start at the first";
      addIssue({ code: "custom", path: ["offset"], message });
    });
type Args = z.output<ReturnType<typeof args>>;

// oxfmt-ignore
const CONTRADICTIONS = [
  ["offset",       "offset_bytes", "both set the start"],
  ["limit",        "limit_bytes",  "both set the page size"],
  ["offset_bytes", "limit",        "one counts bytes and the other lines"],
] as const;

export const readReturns = () =>
  z.strictObject({
    path: z.string(),
    kind: z.enum(["text", "image", "binary"]).describe("Only text content is shown"),
    media_type: z.string(),
    size: z.int(),
    sha256: z.string().nullable().describe("SHA-256 of the whole file; null above 4 GiB"),
    start_line: z.int().nullable().optional(),
    end_line: z.int().nullable().optional(),
    total_lines: z.int().nullable().optional(),
    offset_bytes: z.int().optional().describe("Start of the slice"),
    end_bytes: z.int().optional().describe("End of the slice (exclusive)"),
    line_ends: z.enum(LINE_ENDS).optional().describe("Line endings of the slice"),
    valid_utf8: z.boolean().optional().describe("Whether the slice is valid UTF-8"),
    bom: z.boolean().optional().describe("The file begins with a byte order mark, which is not shown"),
  });
type Output = ToolOutput<z.input<ReturnType<typeof readReturns>>>;

export const read = defineTool({
  name: "read",
  version: "1.0.0",
  description:
    "Read a file, or a slice of it by lines or bytes. For images and other binary files, returns only type and size.",
  args,
  returns: readReturns,
  aliases: [{ name: "read_file", adapt: adaptReadFile }],
  required_permissions: ["fs.read"],
  side_effects: ["none"],
  risk: "low",
  // Stored output of the run is outside the workspace.
  touches: ({ path }) => (isStorageRef(path) ? [] : [{ path, access: "read" }]),
  permission_class: "file",
  audit_operation: "read",
  concurrency_safe: true,
  read_only: true,
  idempotent: true,
  search_hint: "read show file content lines bytes",

  async execute(given, context) {
    const { path } = given;
    const file = await (isStorageRef(path) ? context.observations.open(path) : context.files.open(path));
    return await readOpened(file, given, context);
  },
});

/** A page of an open file, which it closes. */
export async function readOpened(file: OpenedFile, given: Args, context: ToolContext): Promise<Output> {
  const { cursor } = given;
  try {
    return await (cursor === undefined ? readFirst(file, given, context) : readOn(file, { ...given, cursor }, context));
  } finally {
    file.close();
  }
}

/** Files up to this size are read completely in one step. */
const WHOLE_BYTES = 256 * 1024;

async function readFirst(file: OpenedFile, given: Args, context: ToolContext): Promise<Output> {
  const { path } = given;
  const start = startOf(given);
  if ("byte" in start && start.byte > 0 && start.byte >= file.size) {
    throw pastEnd(path, { field: "offset_bytes", wanted: start.byte, have: file.size, unit: "byte" });
  }
  const head = await readExactly(file, { path, at: 0, length: Math.min(file.size, WHOLE_BYTES) });
  const { kind, media_type } = recogniseContent(head);
  const bom = startsWithBom(head);
  const isWhole = head.length === file.size;
  const wanted = kind === "text" ? start : { byte: 0 };
  const survey = isWhole ? surveyBytes(head, wanted) : await surveyFile(file, { path, start: wanted }, context);
  if (kind !== "text") return nameOnly(kind, { path, media_type, size: file.size, sha256: survey.sha256 });
  const { place, sha256, total_lines } = survey;
  if (place === undefined) {
    throw pastEnd(path, { field: "offset", wanted: given.offset ?? 1, have: total_lines ?? 0, unit: "line" });
  }
  const page = await readPage(file, { ...given, place, bom, ...(isWhole ? { whole: head } : {}) }, context.limits);
  return present(given, { file, page, survey: { sha256, total_lines }, from: start, context });
}

/** The next page, at the cost of that page alone: the cursor has the facts found by the first one. */
async function readOn(file: OpenedFile, given: Args & { cursor: string }, context: ToolContext): Promise<Output> {
  const { path } = given;
  const position = positionSchema().parse(context.cursors.open(given.cursor, boundTo(given)));
  if (position.identity !== file.identity) {
    throw new ToolError("InvalidCursor", `Cannot continue reading "${path}": it has changed since the previous page`, {
      field: "cursor",
      hint: "Read it again without a cursor.",
    });
  }
  const { at, line, bom, sha256, total_lines, from } = position;
  refuseOtherStart(given, from);
  const page = await readPage(file, { ...given, place: { at, line }, bom }, context.limits);
  return present(given, { file, page, survey: { sha256, total_lines }, from, context });
}

const startSchema = () => z.union([z.strictObject({ line: z.int() }), z.strictObject({ byte: z.int() })]);

const positionSchema = () =>
  z.strictObject({
    at: z.int(),
    line: z.int().nullable(),
    identity: z.string(),
    sha256: z.string().nullable(),
    total_lines: z.int().nullable(),
    bom: z.boolean(),
    from: startSchema(),
  });

/** A cursor is bound to these. Pages may differ in length, so limits are not part of it. */
function boundTo({ path }: Args): unknown {
  return ["read", path];
}

function startOf({ offset, offset_bytes, limit_bytes }: Args): Start {
  if (offset_bytes !== undefined) return { byte: offset_bytes };
  return limit_bytes === undefined ? { line: offset ?? 1 } : { byte: offset ?? 0 };
}

/** Callers repeat the first page's arguments next to the cursor; a different offset contradicts it. */
function refuseOtherStart(given: Args, from: Start): void {
  const { path, offset, offset_bytes } = given;
  if (offset === undefined && offset_bytes === undefined) return;
  const first = "line" in from ? from.line : from.byte;
  if ((offset ?? offset_bytes) === first) return;
  const field = offset === undefined ? "offset_bytes" : "offset";
  throw new ToolError(
    "InvalidArguments",
    `Cannot read "${path}": "${field}" and "cursor" start at different positions`,
    { field, hint: "Omit one of them." },
  );
}

function pastEnd(
  path: string,
  { field, wanted, have, unit }: { field: string; wanted: number; have: number; unit: "line" | "byte" },
): ToolError {
  const holds = have === 0 ? "it is empty" : `it has ${have} ${unit}${have === 1 ? "" : "s"}`;
  return new ToolError("InvalidArguments", `Cannot read "${path}" from ${unit} ${wanted}: ${holds}`, {
    field,
    [`total_${unit}s`]: have,
  });
}

// oxfmt-ignore
const NAMED = {
  image:    (media_type: string, size: string) => `is an image (${media_type}), ${size}; its content is not shown`,
  binary:   (media_type: string, size: string) => `is a binary file (${media_type}), ${size}; its content is not shown`,
  "utf-16": (media_type: string, size: string) => `is UTF-16 text (${media_type}), ${size}; only UTF-8 is shown`,
} as const;

interface BinaryFile {
  readonly path: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string | null;
}

function nameOnly(kind: keyof typeof NAMED, named: BinaryFile): Output {
  const described = NAMED[kind](named.media_type, `${named.size} bytes`);
  return {
    data: { ...named, kind: kind === "image" ? kind : "binary" },
    stdout: `"${makeVisible(named.path)}" ${described}\n`,
  };
}

const UNHASHED = "The file is too large to be hashed and counted: sha256 and total_lines are null";

interface PageSource {
  readonly file: OpenedFile;
  readonly page: Page;
  readonly survey: Omit<Survey, "place">;
  readonly from: Start;
  readonly context: ToolContext;
}

function present(given: Args, { file, page, survey, from, context }: PageSource): Output {
  const { path } = given;
  const { next, text, around, truncated_lines, truncated_bytes, notes, ...slice } = page;
  const { size, identity } = file;
  const unhashed = given.cursor === undefined && survey.sha256 === null ? [UNHASHED] : [];
  const position = next && { ...next, identity, ...survey, bom: slice.bom, from };
  return {
    data: { path, kind: "text", media_type: "text/plain", size, ...survey, ...slice },
    stdout: text,
    ...(around === undefined ? {} : { around }),
    stderr: [...notes, ...unhashed].map((note) => `${note}\n`).join(""),
    ...(position === undefined ? {} : { next_page_cursor: context.cursors.seal(position, boundTo(given)) }),
    truncated_lines,
    truncated_bytes,
  };
}
