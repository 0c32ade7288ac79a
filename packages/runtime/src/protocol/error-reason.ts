// oxfmt-ignore
const REASONS: Readonly<Record<string, string>> = {
  ENOENT:       "it does not exist",
  EACCES:       "permission denied",
  EPERM:        "operation not permitted",
  ELOOP:        "too many levels of symbolic links",
  ENAMETOOLONG: "file name too long",
  EMFILE:       "too many open files",
  ENFILE:       "too many open files",
  EIO:          "input/output error",
  ENOSPC:       "no space left on the device",
  EDQUOT:       "disk quota exceeded",
  EFBIG:        "file size limit exceeded",
  EROFS:        "the file system is read-only",
  EISDIR:       "it is a folder",
  EBUSY:        "it is in use by the system",
  ETXTBSY:      "it is a running program",
  ENXIO:        "no such device",
  ESTALE:       "stale handle on a network file system",
};

/** A clause such as "permission denied"; the error's code if it has no words here, and its message if it has no code. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : (REASONS[code] ?? code);
}
