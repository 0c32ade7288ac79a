const NOT_ASCII = /[\u0080-\u00ff]/;
const BEYOND_ASCII = /[^\0-\x7f]/;

/** Decodes a path with one character per byte for display: invalid UTF-8 becomes replacement characters. */
export function decodeKey(key: string): string {
  return NOT_ASCII.test(key) ? Buffer.from(key, "latin1").toString("utf8") : key;
}

/** The UTF-8 bytes of a text, one character per byte. */
export function keyOf(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text;
}

/** A key in the form that system calls accept. */
export function systemPath(key: string): string | Buffer {
  return NOT_ASCII.test(key) ? Buffer.from(key, "latin1") : key;
}

/**
 * A key in a form that sorts in path order: name by name, byte by byte, with the entries of a folder right after it.
 * NUL works as separator, because no name contains it and it sorts first.
 */
export function orderOf(key: string): string {
  return key.replaceAll("/", "\0");
}

export function folderOf(key: string): string {
  const slash = key.lastIndexOf("/");
  return slash < 0 ? "" : key.slice(0, slash);
}

export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
