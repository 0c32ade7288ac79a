import { reasonOf } from "../../protocol/error-reason.ts";
import { ToolError } from "../../protocol/errors.ts";

export type Doing = "open" | "list" | "read" | "change" | "delete";

/** Converts an operating system error to a `ToolError`. The message shows `path` as the caller passed it. */
export function asToolError(error: unknown, path: string, doing: Doing = "open"): ToolError {
  if (error instanceof ToolError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const cannot = `Cannot ${doing} "${path}"`;
  if (code === "ENOENT") return new ToolError("NotFound", `${cannot}: not found`, { path }, error);
  if (code === "ENOTDIR") {
    const why = doing === "list" ? "it is not a folder" : "a name above it is a file, not a folder";
    return new ToolError("InvalidArguments", `${cannot}: ${why}`, { path }, error);
  }
  const reason = code ?? "unknown";
  return new ToolError("IOError", `${cannot}: ${reasonOf(error)}`, { path, reason }, error);
}

/** Runs a file operation and converts operating system errors to `ToolError`. */
export function doing<T>(what: Doing, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw convertSystemError(error, path, what);
  }
}

/** Converts only operating system errors: others are tool errors already, or bugs. */
export function convertSystemError(error: unknown, path: string, what: Doing): unknown {
  return isSystemError(error) ? asToolError(error, path, what) : error;
}

export function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
