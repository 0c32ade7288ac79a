import { FILES, nameInHeading, ownWords } from "../model/prompt/quoted.ts";
import type { Quotation } from "../model/prompt/quoted.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import type { KeptFile } from "./kept-files.ts";

/** A file that came with a message. */
export interface ReceivedFile {
  /** Digits: its number among the files of the task. */
  readonly id: string;
  /** As the sender calls it: data. Redacted. */
  readonly name: string;
  /** What it was sent as: "photo", "document" … */
  readonly kind: string;
  /** Whose it is, where it is not the user's own: `forwarded from "Eve" (user 7)`. */
  readonly from?: string;
  /** By which the channel asks for it. */
  readonly remote?: string;
  /** As the channel announced it. */
  readonly bytes?: number;
  /** Where it was downloaded. */
  readonly kept?: KeptFile;
  readonly media_type?: string;
  /** Where it is in the workspace. */
  readonly path?: string;
  /** Why it was not taken: a clause. */
  readonly problem?: string;
}

/** What the store has of the files of a task. */
export interface ReceivedFiles {
  readonly files: readonly ReceivedFile[];
  /** All are in the workspace, or are not; the text of the task names them. */
  readonly isNamed?: true;
  /** The model's provider did not take the images. */
  readonly areHidden?: true;
}

export function writeReceived(received: ReceivedFiles): string {
  return JSON.stringify(received);
}

/** Undefined where it is damaged. */
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
  /** Ids of those that the model is shown. */
  readonly shown: ReadonlySet<string>;
  readonly isImage: (file: ReceivedFile) => boolean;
}

/** The files as the task names them to the model: data, each on a line, those of another sender under a heading of their own. */
export function fileQuotations(files: readonly ReceivedFile[], naming: Naming): readonly Quotation[] {
  const groups = Map.groupBy(files, ({ from }) => from);
  return [...groups].map(([from, group]) => ({
    heading: from === undefined ? `${FILES} that came with this message` : `${FILES} of the message ${from}`,
    text: group.map((file) => lineOf(file, naming)).join("\n"),
  }));
}

const SHOWN = "the image is shown with this message only";
const UNSEEN = "an image that you cannot see";

/** The text of a task whose images are not shown after all. */
export function withoutImages(text: string): string {
  const own = ownWords(text).length;
  return `${text.slice(0, own)}${text.slice(own).replaceAll(SHOWN, UNSEEN)}`;
}

function lineOf(file: ReceivedFile, { shown, isImage }: Naming): string {
  const { id, name, path, kind, kept, media_type = "unknown type" } = file;
  if (path === undefined)
    return `not taken: ${nameInHeading(name)} (${kind}): ${file.problem ?? "it was not downloaded"}`;
  const facts = [media_type, `${kept?.bytes ?? 0} bytes`];
  if (!path.endsWith(`/${name}`)) facts.push(`sent as ${nameInHeading(name)}`);
  if (shown.has(id)) facts.push(SHOWN);
  else if (isImage(file)) facts.push(UNSEEN);
  return `${path} (${facts.join(", ")})`;
}

/** One line for the person; undefined where there is nothing to say. */
export function notTaken(files: readonly ReceivedFile[]): string | undefined {
  const said = files.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`${nameInHeading(name)} (${problem})`],
  );
  return said.length === 0 ? undefined : `Not taken: ${said.join("; ")}`;
}
