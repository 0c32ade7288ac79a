import { lstatSync } from "node:fs";
import { join, posix } from "node:path";
import { isParked, recogniseContent } from "@autonous/runtime/internal";
import type { CallError, Runtime, Tool, ToolCallResult } from "@autonous/runtime";
import { resultOfEvent } from "../agent/recorded-result.ts";
import { readRecord } from "../agent/resume.ts";
import type { AgentRecord } from "../agent/resume.ts";
import { IMAGE_TYPES, MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS } from "../model/prompt/images.ts";
import { withQuotations } from "../model/prompt/quoted.ts";
import type { MessageImage, ModelProvider } from "../model/provider.ts";
import type { Lease, Store } from "../store/store.ts";
import { numberedName, safeFileName } from "./file-name.ts";
import { imageSize } from "./image-size.ts";
import { dropKept, readKept } from "./kept-files.ts";
import type { KeptFile } from "./kept-files.ts";
import { createReceiveTool, RECEIVE_FILE } from "./receive-tool.ts";
import { fileQuotations, notTaken, readReceived, withoutImages, writeReceived } from "./received-files.ts";
import type { ReceivedFile, ReceivedFiles } from "./received-files.ts";

export interface ReceiveOptions {
  readonly store: Store;
  /** Opens a runtime for the lease's run with these additional tools. Closed here. */
  readonly openRuntime: (lease: Lease, tools: readonly Tool[]) => Promise<Runtime>;
  readonly provider: Pick<ModelProvider, "takes_images">;
  readonly inbox: InboxFolder;
  readonly signal: AbortSignal;
}

/** Where received files are stored. */
export interface InboxFolder {
  /** Base of the runtime's relative paths. */
  readonly cwd: string;
  /** Relative to `cwd`. */
  readonly folder: string;
}

/** The task as the model gets it. `parked`: a file needs approval first. */
export type ReceivedTask = { readonly text: string; readonly images: readonly MessageImage[] } | "parked" | "cancelled";

/** For all images of a task: Base64 adds a third, and some providers reject requests of 20 MB. */
const MAX_SHOWN_BYTES = 14_000_000;
/** Numbered names tried when the name is taken. */
const MAX_NUMBERS = 1000;

/**
 * Stores the files that came with a task in the workspace, each by a governed call, and lists them in its text. Steps
 * that were completed before a crash are not repeated. A refused file is listed with the reason, and the task
 * continues.
 */
export async function receiveFiles(lease: Lease, options: ReceiveOptions): Promise<ReceivedTask> {
  if (lease.task.files === null) return { text: lease.task.text, images: [] };
  const task = (await options.store.tasks.get(lease.task.task_id))?.task ?? lease.task; // may have changed under this lease
  const received = task.files === null ? undefined : readReceived(task.files);
  if (received === undefined || received.files.length === 0) return { text: task.text, images: [] };
  const runtime = await options.openRuntime(lease, [createReceiveTool((sha256) => readBySha256(sha256))]);
  const state_dir = runtime.state_dir;
  const readFile = (id: string, kept: KeptFile): Buffer | undefined =>
    readKept({ state_dir, run_id: task.run_id, id }, kept);
  function readBySha256(sha256: string): Buffer | undefined {
    const file = received?.files.find(({ kept }) => kept?.sha256 === sha256);
    return file?.kept === undefined ? undefined : readFile(file.id, file.kept);
  }
  try {
    const placed = received.isNamed === true ? received : await placeAll(received, { lease, runtime, ...options });
    if (typeof placed === "string") return placed;
    const mayShow = options.provider.takes_images === true && placed.areHidden !== true;
    const images = mayShow ? imagesOf(placed.files, readFile) : new Map<string, MessageImage>();
    if (received.isNamed === true) return { text: task.text, images: [...images.values()] };
    const text = nameFiles(task.text, placed.files, new Set(images.keys()));
    const before = new Set(received.files.filter(({ problem }) => problem !== undefined).map(({ id }) => id));
    const notice = notTaken(placed.files.filter(({ id }) => !before.has(id))); // the others were reported already
    await options.store.revisions.receive(lease, {
      text,
      files: writeReceived({ ...placed, isNamed: true }),
      ...(notice === undefined ? {} : { notice: runtime.redact(notice).text }),
    });
    // Images may have to be shown to the model again; the other files are now in the workspace.
    for (const { id } of placed.files.filter((file) => !images.has(file.id)))
      dropKept({ state_dir, run_id: task.run_id, id });
    return { text, images: [...images.values()] };
  } finally {
    await runtime.close();
  }
}

/** The provider rejected the request, possibly because of the images: from now on the task runs without them. */
export async function hideImages(lease: Lease, { store }: Pick<ReceiveOptions, "store">): Promise<void> {
  const task = (await store.tasks.get(lease.task.task_id))?.task ?? lease.task;
  const received = readReceived(task.files ?? "") ?? { files: [] };
  const files = writeReceived({ ...received, areHidden: true });
  const notice = "The model rejected the images. Retrying the task without them";
  await store.revisions.receive(lease, { text: withoutImages(task.text), files, notice });
}

function nameFiles(text: string, files: readonly ReceivedFile[], shown: ReadonlySet<string>): string {
  const isImage = ({ media_type }: ReceivedFile): boolean => media_type?.startsWith("image/") === true;
  return withQuotations(text, fileQuotations(files, { shown, isImage }));
}

type ReadFile = (id: string, kept: KeptFile) => Buffer | undefined;

/** Reads the downloaded files, not the workspace, so that a resumed task shows the same bytes. */
function imagesOf(files: readonly ReceivedFile[], readFile: ReadFile): ReadonlyMap<string, MessageImage> {
  const images = new Map<string, MessageImage>();
  let left = MAX_SHOWN_BYTES;
  for (const { id, kept, path, media_type = "" } of files) {
    if (path === undefined || kept === undefined) continue;
    if (!IMAGE_TYPES.has(media_type) || kept.bytes > Math.min(MAX_IMAGE_BYTES, left)) continue;
    const content = readFile(id, kept);
    if (content === undefined || !canBeShown(content, media_type)) continue;
    left -= kept.bytes;
    images.set(id, { media_type, data: content.toString("base64") });
  }
  return images;
}

function canBeShown(content: Buffer, media_type: string): boolean {
  const size = imageSize(content, media_type);
  return size !== undefined && Math.max(size.width, size.height) <= MAX_IMAGE_PIXELS;
}

interface Placing extends Pick<ReceiveOptions, "inbox" | "signal"> {
  readonly lease: Lease;
  readonly runtime: Runtime;
}

async function placeAll(received: ReceivedFiles, placing: Placing): Promise<ReceivedFiles | "parked" | "cancelled"> {
  const record = await readRecord(placing.runtime.journal, placing.lease.task.task_id);
  const files: ReceivedFile[] = [];
  for (const file of received.files) {
    const { kept } = file;
    if (file.problem !== undefined) files.push(file);
    else if (kept === undefined) files.push({ ...file, problem: "it was not downloaded; send it again" });
    else {
      const placed = await place({ ...file, kept }, record, placing);
      if (typeof placed === "string") return placed;
      files.push(placed);
    }
  }
  return { ...received, files };
}

type Downloaded = ReceivedFile & { readonly kept: KeptFile };

async function place(
  file: Downloaded,
  record: AgentRecord,
  placing: Placing,
): Promise<ReceivedFile | "parked" | "cancelled"> {
  const { task } = placing.lease;
  const name = safeFileName(file.name, `file-${file.id}`);
  const retry = task.retries === 0 ? "" : `_${task.retries}`;
  for (let number = 1; number <= MAX_NUMBERS; number++) {
    const path = posix.join(placing.inbox.folder, numberedName(name, number));
    const tool_call_id = `call_receive_${file.id}_${number}${retry}`;
    const past = record.calls.get(tool_call_id);
    if (past === undefined && isTaken(path, file, placing)) continue;
    const result =
      past?.ended === undefined ? await call(file, { tool_call_id, path }, placing) : resultOfEvent(past.ended);
    if (isParked(result)) return "parked";
    if (placing.signal.aborted) return "cancelled";
    if (result.error === null) return { ...file, path, media_type: typeOf(file, placing) };
    if (result.error.code !== "AlreadyExists") return { ...file, problem: problemOf(result.error) };
  }
  return { ...file, problem: `"${placing.inbox.folder}" already has ${MAX_NUMBERS} files with that name` };
}

/**
 * Avoids calls that would fail; the call itself decides. A file of the same length may be the same file, which is
 * stored once: the call compares the contents, using verified handles.
 */
function isTaken(path: string, { kept }: Downloaded, { inbox }: Placing): boolean {
  try {
    const there = lstatSync(join(inbox.cwd, path), { throwIfNoEntry: false });
    return there !== undefined && (!there.isFile() || there.size !== kept.bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return false; // the call reports the problem with the folder
  }
}

interface Calling {
  readonly tool_call_id: string;
  readonly path: string;
}

async function call(
  { name, kept }: Downloaded,
  { tool_call_id, path }: Calling,
  { lease: { task }, runtime, signal }: Placing,
): Promise<ToolCallResult> {
  const { task_id, trace_id, run_id, lane, source, user } = task;
  const request = { name: RECEIVE_FILE, args: { path, ...kept, name }, tool_call_id, task_id, trace_id, run_id };
  const who = { chat: lane, channel: source, ...(user === null ? {} : { user }) };
  return await runtime.call(request, { signal, ...who });
}

function problemOf({ message }: CallError): string {
  return message.replaceAll(/\s+/g, " ");
}

/** By its content: the type that the sender gives is not trusted. */
function typeOf({ id, kept }: Downloaded, { runtime, lease }: Placing): string {
  const content = readKept({ state_dir: runtime.state_dir, run_id: lease.task.run_id, id }, kept);
  return content === undefined ? "application/octet-stream" : recogniseContent(content).media_type;
}
