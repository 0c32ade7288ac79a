import { FILES, nameInHeading, ownWords } from "../model/prompt/quoted.ts";
import type { Quotation } from "../model/prompt/quoted.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import type { KeptFile } from "./kept-files.ts";

/** A file that came with a message. */
export interface ReceivedFile {
  /** Digits: its number among the files of the task. */
  readonly id: string;
  /** Name given by the sender: untrusted data. Redacted. */
  readonly name: string;
  /** What it was sent as: "photo", "document" … */
  readonly kind: string;
  /** Its origin, if it is not the user's own: `forwarded from "Eve" (user 7)`. */
  readonly from?: string;
  /** The channel's id of the file, for downloading it. */
  readonly remote?: string;
  /** Size as announced by the channel. */
  readonly bytes?: number;
  /** Set once it was downloaded. */
  readonly kept?: KeptFile;
  readonly media_type?: string;
  /** Its path in the workspace. */
  readonly path?: string;
  /** Why it was skipped: a clause. */
  readonly problem?: string;
}

/** The files of a task, as stored. */
export interface ReceivedFiles {
  readonly files: readonly ReceivedFile[];
  /** Every file was stored in the workspace or skipped, and the text of the task lists them. */
  readonly isNamed?: true;
  /** The provider rejected the images. */
  readonly areHidden?: true;
}

export function writeReceived(received: ReceivedFiles): string {
  return JSON.stringify(received);
}

/** Undefined if it is damaged. */
export function readReceived(text: string): ReceivedFiles | undefined {
  return parseKept(text, isReceived);
}

function isReceived(value: unknown): value is ReceivedFiles {
  return isObject(value) && Array.isArray(value["files"]) && value["files"].every(isFile);
}

function isFile(value: unknown): value is ReceivedFile {
  if (!isObject(value)) return false;
  const { id, name, kind, kept } = value;
  if (typeof id !== "string" || !/^\d{1,6}$/.test(id)) return false;
  return typeof name === "string" && typeof kind === "string" && (kept === undefined || isObject(kept));
}

interface Naming {
  /** Ids of the files that are shown to the model. */
  readonly shown: ReadonlySet<string>;
  readonly isImage: (file: ReceivedFile) => boolean;
}

/**
 * The list of files for the model: untrusted data, one per line, with a separate heading for files of other senders.
 */
export function fileQuotations(files: readonly ReceivedFile[], naming: Naming): readonly Quotation[] {
  const groups = Map.groupBy(files, ({ from }) => from);
  return [...groups].map(([from, group]) => ({
    heading: from === undefined ? `${FILES} that came with this message` : `${FILES} of the message ${from}`,
    text: group.map((file) => lineOf(file, naming)).join("\n"),
  }));
}

const SHOWN = "the image is shown with this message only";
const UNSEEN = "an image that you cannot see";

/** The text of a task whose images cannot be shown after all. */
export function withoutImages(text: string): string {
  const own = ownWords(text).length;
  return `${text.slice(0, own)}${text.slice(own).replaceAll(SHOWN, UNSEEN)}`;
}

function lineOf(file: ReceivedFile, { shown, isImage }: Naming): string {
  const { id, name, path, kind, kept, media_type = "unknown type" } = file;
  if (path === undefined)
    return `skipped: ${nameInHeading(name)} (${kind}): ${file.problem ?? "it was not downloaded"}`;
  const facts = [media_type, `${kept?.bytes ?? 0} bytes`];
  if (!path.endsWith(`/${name}`)) facts.push(`sent as ${nameInHeading(name)}`);
  if (shown.has(id)) facts.push(SHOWN);
  else if (isImage(file)) facts.push(UNSEEN);
  return `${path} (${facts.join(", ")})`;
}

/** One line for the person; undefined if no file was skipped. */
export function notTaken(files: readonly ReceivedFile[]): string | undefined {
  const said = files.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`${nameInHeading(name)} (${problem})`],
  );
  return said.length === 0 ? undefined : `Skipped: ${said.join("; ")}`;
}
