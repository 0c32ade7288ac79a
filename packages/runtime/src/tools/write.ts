import { hash } from "node:crypto";
import { z } from "zod";
import type { FileBefore, FileChange } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { refuseMarker } from "../edits/refuse-marker.ts";
import { makeVisible } from "../output/visible.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { ToolError } from "../protocol/errors.ts";
import { describeUndo } from "./undo-description.ts";
import { refuseStale, sha256Argument } from "./stale.ts";

const args = () =>
  z.strictObject({
    path: z.string().min(1).describe("File to write; missing folders are created"),
    content: z.string().describe("The whole content, or with append the text to add at the end"),
    mode: z.enum(["overwrite", "append", "create"]).default("overwrite").describe("create fails if the file exists"),
    if_sha256: sha256Argument().optional(),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    path: z.string(),
    bytes_written: z.int(),
    created: z.boolean(),
    size: z.int(),
    sha256: z.string(),
  });

export const write = defineTool({
  name: "write",
  version: "1.0.0",
  description: "Write a whole file, or append to it. To change part of a file, use edit.",
  args,
  returns,
  aliases: [{ name: "write_file", adapt: adaptWriteFile }],
  required_permissions: ["fs.write"],
  side_effects: ["files"],
  risk: "medium",
  touches: ({ path }) => [{ path, access: "write" }],
  permission_class: "file",
  audit_operation: "write",
  changes_by_handle: true,
  previews: true,
  search_hint: "write create append file content",

  async execute(given, { files }) {
    const { path } = given;
    let planned: PlannedWrite | undefined;
    const changed = await files.change([path], async ([before]) => {
      if (before === undefined) throw new Error("The file handle omitted the requested file");
      planned = await planWrite(given, before);
      return [planned.change];
    });
    if (planned === undefined) throw new Error("The file handle did not request a plan");
    const { bytes_written, created } = planned;
    const { size, sha256 } = changed.files[0]?.after ?? planned.same;
    const { note, artifacts } = describeUndo(changed);
    return {
      data: { path, bytes_written, created, size, sha256 },
      stdout: `${created ? "Created" : DONE[given.mode]} ${makeVisible(path)} (${bytes_written} bytes${size === bytes_written ? "" : `, now ${size}`})\n`,
      stderr: note,
      artifacts,
    };
  },
});

const DONE = { overwrite: "Wrote", create: "Created", append: "Appended to" } as const satisfies Record<
  Args["mode"],
  string
>;

interface PlannedWrite {
  readonly change: FileChange;
  readonly bytes_written: number;
  readonly created: boolean;
  /** The result if nothing has to change. */
  readonly same: { readonly size: number; readonly sha256: string };
}

async function planWrite({ path, content, mode, if_sha256 }: Args, before: FileBefore): Promise<PlannedWrite> {
  if (mode === "create" && before.facts !== null) {
    throw new ToolError("AlreadyExists", `Cannot create "${path}": the file already exists`, { path });
  }
  await refuseStale(before, if_sha256, "write");
  if (content.includes(REDACTION_MARKER)) refuseMarker((await before.read()).toString("utf8"), content, path);
  if (mode !== "append" || before.facts === null) {
    const bytes = Buffer.from(content);
    const same = { size: bytes.length, sha256: hash("sha256", bytes, "hex") };
    return { change: { path, content: bytes }, bytes_written: bytes.length, created: before.facts === null, same };
  }
  const append = Buffer.from(await fitToEnd(content, before));
  const same = { size: before.facts.size, sha256: (await before.sha256()) ?? "" };
  return { change: { path, append }, bytes_written: append.length, created: false, same };
}

/** A byte order mark belongs only at the top of a file, and added lines end like the existing ones. */
async function fitToEnd(content: string, before: FileBefore): Promise<string> {
  const text = content.startsWith("\uFEFF") ? content.slice(1) : content;
  if (!text.includes("\n") || text.includes("\r")) return text;
  return (await endsLinesWithCrLf(before)) ? text.replaceAll("\n", "\r\n") : text;
}

/** How far back line ends of a file are examined. */
const TAIL_BYTES = 65_536;

async function endsLinesWithCrLf(before: FileBefore): Promise<boolean> {
  const tail = (await before.readEnd(TAIL_BYTES)).toString("latin1");
  const lines = tail.split("\n").length - 1;
  return lines > 0 && tail.split("\r\n").length - 1 === lines;
}

/** Names that other clients use for the same tool. */
function adaptWriteFile(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { file_path, target_file, contents, text, ...rest } = given;
  const path = file_path ?? target_file;
  const content = contents ?? text;
  return { ...(path === undefined ? {} : { path }), ...(content === undefined ? {} : { content }), ...rest };
}
