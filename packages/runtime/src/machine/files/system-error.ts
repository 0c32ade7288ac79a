import { ToolError } from "../../protocol/errors.ts";

// oxfmt-ignore
const REASONS: Readonly<Record<string, string>> = {
  EACCES:       "permission denied",
  EPERM:        "operation not permitted",
  ELOOP:        "too many links lead into each other",
  ENAMETOOLONG: "a name in it is too long",
  EMFILE:       "too many files are open",
  ENFILE:       "too many files are open",
  EIO:          "the device reported an error",
  ENOSPC:       "no space is left on the device",
  EDQUOT:       "the disk quota is used up",
  EFBIG:        "it would become larger than files may be",
  EROFS:        "the file system is read-only",
  EISDIR:       "it is a folder",
  EBUSY:        "the system is using it",
  ETXTBSY:      "it is a program that is running",
  ENXIO:        "there is no such device",
  ESTALE:       "the network file system lost it",
};

export type Doing = "open" | "list" | "read" | "change" | "delete";

/** An error of the operating system in our words. `path` is told as the caller gave it. */
export function asToolError(error: unknown, path: string, doing: Doing = "open"): ToolError {
  if (error instanceof ToolError) return error;
  const { code } = error as NodeJS.ErrnoException;
  const cannot = `Cannot ${doing} "${path}"`;
  if (code === "ENOENT") return new ToolError("NotFound", `${cannot}: there is nothing of that name`, { path }, error);
  if (code === "ENOTDIR") {
    const why = doing === "list" ? "it is not a folder" : "a name above it is a file, not a folder";
    return new ToolError("InvalidArguments", `${cannot}: ${why}`, { path }, error);
  }
  const reason = code ?? "unknown";
  return new ToolError("IOError", `${cannot}: ${reasonOf(error)}`, { path, reason }, error);
}

/** A clause: "permission denied". */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : (REASONS[code] ?? code);
}

/** Does something with a file; what the operating system says against it is told in our words. */
export function doing<T>(what: Doing, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inOurWords(error, path, what);
  }
}

/** Only what the operating system said is put in our words: the rest is ours already, or a fault of ours. */
export function inOurWords(error: unknown, path: string, what: Doing): unknown {
  return isSystemError(error) ? asToolError(error, path, what) : error;
}

export function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
