import { createHash, hash } from "node:crypto";
import { closeSync, existsSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import type { AuditProblem } from "./chain-check.ts";
import { readLines } from "./lines.ts";
import { DamagedBook, findBook } from "./run-approvals.ts";
import { openOwnFile } from "../own-files/read-own-file.ts";

/** What a call left beside the record, and the record's hash of it. */
interface Stored {
  readonly sha256: string;
  readonly seq: number;
}

/** Where results of a run lie, one per line; the record has the hash of each as `result_sha256`. */
const RESULTS = "results.jsonl";
const APPROVALS = "approvals.json";

/** A name in one of these folders. Nothing else is opened, whatever an event says. */
const REFERENCE = /^(?:observations|artifacts)\/(?!\.{1,2}$)[^/\0]+$/;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Collects from the events of a run which files its calls stored (outputs, long arguments, attachments, results), then
 * checks each. Only what the gate writes itself is believed: `audit.hashes`, `stdout_ref`, `attachments`.
 */
export class StoredFiles {
  readonly #files = new Map<string, Stored>();
  readonly #results = new Map<string, Stored>();
  #lastResult: string | undefined;
  #isOfService = false;

  add({ seq, type, payload }: RuntimeEvent): void {
    if (seq === 1) this.#isOfService = type === "task.queued"; // its results are in the store
    if (type !== "tool_call.completed" && type !== "tool_call.failed") return;
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

  async check(folder: string): Promise<readonly AuditProblem[]> {
    const problems: AuditProblem[] = [];
    for (const [name, { sha256, seq }] of this.#files) {
      const found = hashOfFile(join(folder, name));
      if (found === undefined) problems.push({ seq, problem: `"${name}", which this call stored, is missing` });
      else if (found !== sha256) problems.push({ seq, problem: `"${name}", which this call stored, was changed` });
    }
    return [
      ...problems,
      ...(await this.#checkResults(join(folder, RESULTS))),
      ...checkApprovals(join(folder, APPROVALS)),
    ];
  }

  async #checkResults(file: string): Promise<readonly AuditProblem[]> {
    if (this.#results.size === 0 || this.#isOfService) return [];
    const found = new Map<string, string>();
    if (existsSync(file))
      for await (const lines of readLines(file))
        for (const { text } of lines) {
          const id = idIn(text);
          if (id !== undefined) found.set(id, hash("sha256", text, "hex"));
        }
    return [...this.#results].flatMap(([id, { sha256, seq }]) => {
      const kept = found.get(id);
      // Kept after its call was recorded, so the process may have ended between the two.
      if (kept === sha256 || (kept === undefined && id === this.#lastResult)) return [];
      const what = kept === undefined ? "is missing" : "was changed";
      return [{ seq, problem: `the result of call "${id}" in "${RESULTS}" ${what}` }];
    });
  }
}

/** They are not part of the chain, but a damaged file allows nothing, so it is reported. */
export function checkApprovals(path: string): readonly AuditProblem[] {
  const book = findBook(path);
  if (!(book instanceof DamagedBook)) return [];
  const problem = `"${basename(path)}" cannot be used: ${book.reason}; no approval in it is in force; move it away`;
  return [{ seq: 0, problem }];
}

function idIn(line: string): string | undefined {
  try {
    const id = fieldsOf(JSON.parse(line))["tool_call_id"];
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined; // empty, or cut short: then its result is reported as missing
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

const BLOCK = 1 << 20;

/** Undefined where there is no such file. */
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
