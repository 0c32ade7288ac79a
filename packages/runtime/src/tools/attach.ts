import { basename } from "node:path";
import { z } from "zod";
import type { AttachmentStart, OpenedFile, ToolContext } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { MAX_ATTACHED_BYTES } from "../protocol/attachment.ts";
import { ToolError } from "../protocol/errors.ts";
import { isStorageRef } from "../protocol/storage-ref.ts";
import { recogniseContent } from "../text/kinds.ts";
import { letOthersRun, readExactly } from "./survey-file.ts";

const args = () =>
  z.strictObject({
    path: z.string().min(1).describe("File to send, relative to the workspace; or a storage_ref of this run"),
    caption: z.string().min(1).max(1_000).optional().describe("Caption, one or two lines"),
  });

const returns = () =>
  z.strictObject({
    name: z.string().describe("File name shown to the recipient"),
    media_type: z.string(),
    bytes: z.int().describe("Size of the sent copy"),
    sha256: z.string().describe("SHA-256 of the sent copy"),
    artifact: z.string().describe("Path of the copy in the run's folder"),
    redacted: z.boolean().describe("Whether secrets were redacted"),
  });

export const attach = defineTool({
  name: "attach",
  version: "1.0.0",
  description: "Send a copy of one file to the user. Secrets in text files are redacted in the copy. At most 50 MB.",
  args,
  returns,
  required_permissions: ["fs.read"],
  side_effects: ["files", "message"],
  risk: "medium",
  // Stored output of the run is outside the workspace.
  touches: ({ path }) => (isStorageRef(path) ? [] : [{ path, access: "read" }]),
  permission_class: "file",
  audit_operation: "attach",
  idempotent: true,
  search_hint: "attach send file document image deliver user upload",

  async execute({ path, caption }, context) {
    const file = await (isStorageRef(path) ? context.observations.open(path) : context.files.open(path));
    try {
      refuseLarge(path, file);
      const kind = await findKind(file, path, context);
      const start = { name: basename(path), ...kind, ...(caption === undefined ? {} : { caption }) };
      const { file: attached, redacted } = await copy(file, { path, start }, context);
      const { name, media_type, bytes, sha256, artifact } = attached;
      return {
        data: { name, media_type, bytes, sha256, artifact, redacted },
        stdout: `"${makeVisible(name)}" (${bytes} bytes) will be sent to the user; copy in the run's folder: ${artifact}\n`,
        stderr: redacted ? "Secrets were redacted in the sent copy\n" : "",
      };
    } finally {
      file.close();
    }
  },
});

function refuseLarge(path: string, { size }: OpenedFile): void {
  if (size <= MAX_ATTACHED_BYTES) return;
  throw new ToolError(
    "FileTooLarge",
    `Cannot attach "${path}": it has ${size} bytes, the limit is ${MAX_ATTACHED_BYTES}`,
    {
      size,
      limit_bytes: MAX_ATTACHED_BYTES,
      hint: "Compress it, attach a part of it, or give the user its path.",
    },
  );
}

type Kind = Pick<AttachmentStart, "media_type" | "encoding">;

const CHUNK = 256 * 1024;

/** Text that is not entirely UTF-8 is handled byte by byte: everything except secrets stays unchanged. */
async function findKind(file: OpenedFile, path: string, context: ToolContext): Promise<Kind> {
  const head = await readExactly(file, { path, at: 0, length: Math.min(file.size, CHUNK) });
  const { kind, media_type } = recogniseContent(head);
  if (kind === "utf-16") return { media_type, encoding: media_type.endsWith("le") ? "utf16le" : "utf16be" };
  if (kind !== "text") return { media_type, encoding: null };
  return { media_type, encoding: (await isUtf8(file, path, context)) ? "utf8" : "latin1" };
}

async function isUtf8(file: OpenedFile, path: string, context: ToolContext): Promise<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const piece of piecesOf(file, path, context)) decoder.decode(piece, { stream: true });
    decoder.decode();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA") return false;
    throw error;
  }
}

interface CopyOptions {
  readonly path: string;
  readonly start: AttachmentStart;
}

async function copy(file: OpenedFile, { path, start }: CopyOptions, context: ToolContext) {
  const writer = context.openAttachment(start);
  try {
    for await (const piece of piecesOf(file, path, context)) writer.write(piece);
    return writer.end();
  } catch (error) {
    writer.drop();
    throw error;
  }
}

/** Each piece is valid until the next one is requested. */
async function* piecesOf(file: OpenedFile, path: string, { signal, progress }: ToolContext): AsyncIterable<Buffer> {
  const into = Buffer.allocUnsafeSlow(CHUNK);
  for (let at = 0; at < file.size;) {
    const piece = await readExactly(file, { path, at, length: Math.min(CHUNK, file.size - at), into });
    at += piece.length;
    yield piece;
    if (at < file.size) progress(at / file.size, `copying "${path}"`);
    await letOthersRun(signal);
  }
}
