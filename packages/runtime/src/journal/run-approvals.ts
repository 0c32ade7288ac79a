import { closeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Approval, Grant } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import { NotAFileError, openOwnFile, readOwnText } from "../own-files/read-own-file.ts";

/** What the file of a run holds. */
export interface RunApprovals {
  readonly approvals: readonly Approval[];
  readonly grants: readonly Grant[];
}

const NOTHING: RunApprovals = { approvals: [], grants: [] };

/** For one who writes: a file that cannot be read must not be replaced by one that lacks what it held. */
export function readBook(path: string): RunApprovals {
  const book = findBook(path);
  if (book !== "damaged") return book;
  const name = join(basename(dirname(path)), basename(path));
  const hint = `Move the file "${path}" away; what was approved in it has to be approved again.`;
  throw new ToolError(
    "RecordFailed",
    `Cannot read the approvals in "${name}": not a regular file with valid JSON of approvals`,
    {
      path,
      hint,
    },
  );
}

/** For one who looks: what cannot be read allows nothing, and takes nothing from other runs. `audit verify` reports it. */
export function lookIntoBook(path: string): RunApprovals {
  const book = findBook(path);
  return book === "damaged" ? NOTHING : book;
}

/** For a person who asks what is granted: a pipe or a folder in the place of the file is an error, not "nothing". */
export function requireFile(path: string): void {
  try {
    closeSync(openOwnFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

export function findBook(path: string): RunApprovals | "damaged" {
  let text: string;
  try {
    text = readOwnText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NOTHING;
    if (error instanceof NotAFileError) return "damaged";
    throw error;
  }
  try {
    return bookIn(JSON.parse(text)) ?? "damaged";
  } catch (error) {
    if (error instanceof SyntaxError) return "damaged";
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
