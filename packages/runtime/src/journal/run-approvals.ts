import { closeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Approval, Grant } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import { NotAFileError, openOwnFile, readOwnText } from "../own-files/read-own-file.ts";

/** The content of a run's file. */
export interface RunApprovals {
  readonly approvals: readonly Approval[];
  readonly grants: readonly Grant[];
}

const NOTHING: RunApprovals = { approvals: [], grants: [] };

/** Why the file of a run cannot be used, as a clause about it. */
export class DamagedBook {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** For writers: an unreadable file must not be replaced by one without its content. */
export function readBook(path: string): RunApprovals {
  const book = findBook(path);
  if (!(book instanceof DamagedBook)) return book;
  const name = join(basename(dirname(path)), basename(path));
  const hint = `Move "${path}" away and retry; approvals and grants stored in it must be given again.`;
  throw new ToolError("RecordFailed", `Cannot read the approvals in "${name}": ${book.reason}`, { path, hint });
}

/** For readers: a damaged file allows nothing, and does not affect other runs. `audit verify` reports it. */
export function readBookLeniently(path: string): RunApprovals {
  const book = findBook(path);
  return book instanceof DamagedBook ? NOTHING : book;
}

/** For listing grants: a pipe or a folder in place of the file is an error, not an empty list. */
export function requireFile(path: string): void {
  try {
    closeSync(openOwnFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

export function findBook(path: string): RunApprovals | DamagedBook {
  let text: string;
  try {
    text = readOwnText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NOTHING;
    if (error instanceof NotAFileError) return new DamagedBook(error.reason);
    throw error;
  }
  try {
    return bookIn(JSON.parse(text)) ?? new DamagedBook("it is valid JSON, but not a list of approvals and grants");
  } catch (error) {
    if (error instanceof SyntaxError) return new DamagedBook("it is not valid JSON");
    throw error;
  }
}

function bookIn(value: unknown): RunApprovals | undefined {
  if (!isObject(value)) return undefined;
  const { approvals = [], grants = [] } = value;
  const isBook =
    Array.isArray(approvals) && approvals.every(isApproval) && Array.isArray(grants) && grants.every(isGrant);
  return isBook ? { approvals, grants } : undefined;
}

function isApproval(value: unknown): value is Approval {
  if (!isObject(value) || !isObject(value["request"])) return false;
  const { approval_id, expires_at } = value["request"];
  return [approval_id, expires_at, value["state"]].every((each) => typeof each === "string");
}

function isGrant(value: unknown): value is Grant {
  return isObject(value) && typeof value["grant_id"] === "string" && typeof value["scope"] === "string";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
