import type { LogLine } from "./change-log.ts";

/** Whether a log line has a valid shape. Logs are replayed, so a damaged line must be rejected. */
export function isValidLine(line: unknown): line is LogLine {
  if (!isObject(line)) return false;
  return Object.entries(line).every(([key, value]) => !Object.hasOwn(SHAPES, key) || SHAPES[key]?.(value) === true);
}

type Shape = (value: unknown) => boolean;

const SHA256 = /^[0-9a-f]{64}$/;
/** The name of a temporary file: never a path into another folder. */
const BACKUP = /^\.autonous-[^/\0]+$/;

// oxfmt-ignore
const SHAPES: Readonly<Record<string, Shape>> = {
  folder:   isText,
  making:   (value) => isListOf(value, isText),
  undo_id:  isText,
  change:   isChange,
  staged:   (value) => isListOf(value, isStaged),
  packed:   (value) => isListOf(value, isPacked),
  put_back: isText,
  inode:    isText,
  ended:    isText,
  outcome:  isText,
};

function isChange(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { undo_id, run_id, tool_call_id, files } = value;
  return [undo_id, run_id, tool_call_id].every(isText) && isListOf(files, isChangedFile);
}

function isChangedFile(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { real, path, key, before = null, after = null, folders_made = [] } = value;
  if (typeof real !== "string" || !isText(path) || !isListOf(folders_made, isText)) return false;
  // Access is checked by `real` but opened by `key`: different values would bypass the check.
  if (key !== undefined && (typeof key !== "string" || Buffer.from(key, "latin1").toString("utf8") !== real))
    return false;
  return [before, after].every((each) => each === null || isVersion(each));
}

// oxfmt-ignore
const VERSIONS: Readonly<Record<string, (version: Record<string, unknown>) => boolean>> = {
  file:   ({ sha256, size, mode, linked = [] }) => isContent(sha256) && isCount(size) && isCount(mode) && isListOf(linked, isText),
  link:   ({ target }) => isText(target),
  folder: ({ mode }) => isCount(mode),
  other:  () => true,
};

function isVersion(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { kind = "file" } = value;
  return typeof kind === "string" && Object.hasOwn(VERSIONS, kind) && VERSIONS[kind]?.(value) === true;
}

function isStaged(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { backup } = value;
  return backup === null || (typeof backup === "string" && BACKUP.test(backup));
}

function isPacked(value: unknown): boolean {
  return isObject(value) && isHash(value["sha256"]) && isCount(value["at"]) && isCount(value["size"]);
}

/** A large file is identified by inode, size and time. */
function isContent(value: unknown): boolean {
  return isHash(value) || (typeof value === "string" && /^identity:[0-9:]+$/.test(value));
}

function isHash(value: unknown): boolean {
  return typeof value === "string" && SHA256.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isListOf(value: unknown, is: Shape): boolean {
  return Array.isArray(value) && value.every(is);
}
