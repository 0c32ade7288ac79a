const NOT_ASCII = /[\u0080-\u00ff]/;
const BEYOND_ASCII = /[^\0-\x7f]/;

/** A path with one character a byte, as people read it: bytes that are no UTF-8 become replacement marks. */
export function decodeKey(key: string): string {
  return NOT_ASCII.test(key) ? Buffer.from(key, "latin1").toString("utf8") : key;
}

/** The bytes of a text, one character a byte. */
export function keyOf(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text;
}

/** A key in the form in which the system takes it. */
export function systemPath(key: string): string | Buffer {
  return NOT_ASCII.test(key) ? Buffer.from(key, "latin1") : key;
}

/**
 * A key in the form that compares as paths do: name by name, byte by byte, and what is in a folder right after it. No
 * name holds a NUL, and nothing comes before it.
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
