import { createHash, hash } from "node:crypto";
import { closeSync, existsSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import type { AuditProblem } from "./chain-check.ts";
import { readLines } from "./read-lines.ts";
import { entriesOf, hasMoreNames, wrongEntry } from "./record-entries.ts";
import { DamagedBook, findBook } from "./run-approvals.ts";
import { storedName } from "./run-folder.ts";
import { openOwnFile } from "../own-files/read-own-file.ts";

/** A file that a call stored next to the record, and the record's hash of it. */
interface StoredFile {
  readonly sha256: string;
  readonly seq: number;
}

/** The file of a run's results, one per line; the record has the hash of each as `result_sha256`. */
const RESULTS = "results.jsonl";
const APPROVALS = "approvals.json";

const FOLDERS = ["observations", "artifacts"] as const;
/** What a call stores: its output, its data, its arguments. */
const OBSERVATION = /^observations\/(call_[A-Za-z0-9_-]{1,123})\.(txt|data\.json|arguments\.json)$/;
/** An attachment, named by its hash, or an unfinished one. */
const ARTIFACT = /^artifacts\/(?:[0-9a-f]{16}-|\.[^/]*\.part$)/;

/** A name in one of these folders. Nothing else is opened, whatever an event says. */
const REFERENCE = /^(?:observations|artifacts)\/(?!\.{1,2}$)[^/\0]+$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** Problems with files next to a record, and remarks. */
interface Findings {
  readonly problems: readonly AuditProblem[];
  readonly notes: readonly AuditProblem[];
}

/**
 * Collects from the events of a run which files its calls stored (outputs, long arguments, attachments, results), then
 * checks each, and that no other files exist. Only fields that the gate writes itself are trusted: `audit.hashes`,
 * `stdout_ref`, `attachments`. File names are listed on creation, before the events are read: files stored later belong
 * to calls that may not be recorded yet.
 */
export class StoredFiles {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #files = new Map<string, StoredFile>();
  readonly #results = new Map<string, StoredFile>();
  /** By the prefix of their files' names: whether they have ended. */
  readonly #calls = new Map<string, boolean>();
  #lastResult: string | undefined;
  #isOfService = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#names = FOLDERS.flatMap((each) => entriesOf(join(folder, each)).map(({ name }) => `${each}/${name}`));
  }

  add({ seq, type, payload }: RuntimeEvent): void {
    if (seq === 1) this.#isOfService = type === "task.queued"; // its results are in the store
    if (type === "tool_call.started") this.#noteCall(payload["tool_call_id"], false);
    if (type !== "tool_call.completed" && type !== "tool_call.failed") return;
    this.#noteCall(payload["tool_call_id"], true);
    const { hashes, result, tool_call_id } = fieldsOf(payload["audit"]);
    for (const [name, sha256] of Object.entries(fieldsOf(hashes))) this.#addFile(name, sha256, seq);
    this.#addFile(fieldsOf(result)["stdout_ref"], fieldsOf(hashes)["stdout_sha256"], seq);
    const attached = payload["attachments"];
    if (Array.isArray(attached))
      for (const each of attached) this.#addFile(fieldsOf(each)["artifact"], fieldsOf(each)["sha256"], seq);
    const kept = fieldsOf(hashes)["result_sha256"];
    if (typeof kept !== "string" || typeof tool_call_id !== "string") return;
    this.#results.set(tool_call_id, { sha256: kept, seq });
    this.#lastResult = tool_call_id;
  }

  #addFile(name: unknown, sha256: unknown, seq: number): void {
    if (typeof name !== "string" || typeof sha256 !== "string") return;
    if (REFERENCE.test(name) && SHA256.test(sha256)) this.#files.set(name, { sha256, seq });
  }

  #noteCall(id: unknown, hasEnded: boolean): void {
    if (typeof id === "string") this.#calls.set(storedName(id), hasEnded);
  }

  async check(): Promise<Findings> {
    const folder = this.#folder;
    const wrong = FOLDERS.filter((name) => wrongEntry(join(folder, name), "folder") !== undefined);
    const stored = [...this.#files].filter(([name]) => !wrong.some((each) => name.startsWith(`${each}/`)));
    const extra = this.#names.filter((name) => !this.#files.has(name)).flatMap((name) => this.#judgeExtra(name));
    const own = [RESULTS, APPROVALS, ...stored.map(([name]) => name)];
    return {
      problems: [
        ...wrong.flatMap((name) => unfit(join(folder, name), "folder", name)),
        ...stored.flatMap(([name, file]) => checkStored(join(folder, name), { name, ...file })),
        ...atMost(extra.filter(({ isDamage }) => isDamage)),
        ...(await this.#checkResults(join(folder, RESULTS))),
        ...checkApprovals(join(folder, APPROVALS)),
      ],
      notes: [
        ...atMost(extra.filter(({ isDamage }) => !isDamage)),
        ...atMost(own.flatMap((name) => namesElsewhere(join(folder, name), name))),
      ],
    };
  }

  /**
   * A file that no event names. A killed process leaves some: files of a call that had not ended, and its long
   * arguments, which are stored before its first event. In a service the file of a run lags behind its events.
   */
  #judgeExtra(name: string): readonly ExtraFile[] {
    const wrong = wrongEntry(join(this.#folder, name), "file");
    if (wrong !== undefined) return [{ seq: 0, problem: `${JSON.stringify(name)} ${wrong}`, isDamage: true }];
    const [, call, suffix] = OBSERVATION.exec(name) ?? [];
    if (call !== undefined && this.#calls.get(call) === false) return []; // it is still running, or was killed
    const mayBeLeft = suffix === "arguments.json" || (call !== undefined && this.#calls.has(call));
    const isDamage = !(ARTIFACT.test(name) || mayBeLeft || (call !== undefined && this.#isOfService));
    const why = isDamage
      ? "is not in the record: no call stored it"
      : "is not in the record: left by a killed process, or added by another program";
    return [{ seq: 0, problem: `${JSON.stringify(name)} ${why}`, isDamage }];
  }

  async #checkResults(file: string): Promise<readonly AuditProblem[]> {
    const wrong = unfit(file, "file", RESULTS);
    if (wrong.length > 0 || this.#results.size === 0 || this.#isOfService) return wrong;
    const found = new Map<string, string>();
    if (existsSync(file))
      for await (const lines of readLines(file))
        for (const { text } of lines) {
          const id = idIn(text);
          if (id !== undefined) found.set(id, hash("sha256", text, "hex"));
        }
    return [...this.#results].flatMap(([id, { sha256, seq }]) => {
      const kept = found.get(id);
      // Stored after its call was recorded, so the process may have ended in between.
      if (kept === sha256 || (kept === undefined && id === this.#lastResult)) return [];
      const what = kept === undefined ? "is missing" : "was changed";
      return [{ seq, problem: `the result of call "${id}" in "${RESULTS}" ${what}` }];
    });
  }
}

interface ExtraFile extends AuditProblem {
  readonly isDamage: boolean;
}

const MAX_LISTED = 20;

function atMost(found: readonly (AuditProblem & { readonly isDamage?: boolean })[]): readonly AuditProblem[] {
  const listed = found.slice(0, MAX_LISTED).map(({ seq, problem }) => ({ seq, problem }));
  const more = found.length - listed.length;
  return more === 0
    ? listed
    : [...listed, { seq: 0, problem: `and ${more} more unrecorded files in the folder of this run` }];
}

/** An entry of the record that is a link, or of a kind that we do not create. */
export function unfit(path: string, wanted: "file" | "folder", name: string): readonly AuditProblem[] {
  const wrong = wrongEntry(path, wanted);
  return wrong === undefined ? [] : [{ seq: 0, problem: `${JSON.stringify(name)} ${wrong}` }];
}

/** Not damage: tools that copy folders, or save space, link files like this. */
export function namesElsewhere(path: string, name: string): readonly AuditProblem[] {
  if (!hasMoreNames(path)) return [];
  return [
    { seq: 0, problem: `${JSON.stringify(name)} has a hard link elsewhere: it can be changed through that link` },
  ];
}

function checkStored(
  path: string,
  { name, sha256, seq }: StoredFile & { readonly name: string },
): readonly AuditProblem[] {
  const said = `${JSON.stringify(name)}, which this call stored,`;
  const wrong = wrongEntry(path, "file");
  if (wrong !== undefined) return [{ seq, problem: `${said} ${wrong}` }];
  const found = hashOfFile(path);
  if (found === undefined) return [{ seq, problem: `${said} is missing` }];
  return found === sha256 ? [] : [{ seq, problem: `${said} was changed` }];
}

/** They are not part of the chain, but a damaged file allows nothing, so it is reported. */
export function checkApprovals(path: string): readonly AuditProblem[] {
  const wrong = unfit(path, "file", basename(path));
  const book = wrong.length > 0 ? undefined : findBook(path);
  if (book === undefined) return wrong;
  if (!(book instanceof DamagedBook)) return [];
  const problem = `"${basename(path)}" cannot be used: ${book.reason}; its approvals have no effect; move it away`;
  return [{ seq: 0, problem }];
}

function idIn(line: string): string | undefined {
  try {
    const id = fieldsOf(JSON.parse(line))["tool_call_id"];
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined; // empty, or truncated: then its result is reported as missing
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

const BLOCK = 1 << 20;

/** Undefined if the file does not exist. */
function hashOfFile(path: string): string | undefined {
  let fd: number;
  try {
    fd = openOwnFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const digest = createHash("sha256");
    const block = Buffer.alloc(BLOCK);
    for (let size = readSync(fd, block); size > 0; size = readSync(fd, block)) digest.update(block.subarray(0, size));
    return digest.digest("hex");
  } finally {
    closeSync(fd);
  }
}
