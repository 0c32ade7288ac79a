import { statSync } from "node:fs";
import { resolve } from "node:path";

/** A file that a message mentions. */
export interface Mention {
  /** As it was typed. */
  readonly word: string;
  readonly path: string;
  /** `missing`: it looks like a path but does not exist. */
  readonly kind: "file" | "folder" | "missing";
}

/** Not after a word character: that is an e-mail address. */
const MENTION = /(?<=^|[\s([{<"'`,;:])@(?:"([^"\n\0]{1,1000})"|([^\s"'`<>|\0@][^\s"'`<>|\0]{0,1000}))/gm;

/** Files and folders mentioned with `@`, without duplicates. Missing names that do not look like a path stay text. */
export function findMentions(text: string, cwd: string): readonly Mention[] {
  const found = new Map<string, Mention>();
  for (const [word, quoted, plain] of text.matchAll(MENTION)) {
    const mention = quoted === undefined ? readPlain(word, plain ?? "", cwd) : readQuoted(word, quoted, cwd);
    if (mention !== undefined && !found.has(mention.path)) found.set(mention.path, mention);
  }
  return [...found.values()];
}

function readQuoted(word: string, path: string, cwd: string): Mention {
  return { word, path, kind: kindOf(path, cwd) ?? "missing" };
}

/** Final punctuation is not part of the name, unless a file of that name exists. */
function readPlain(word: string, typed: string, cwd: string): Mention | undefined {
  const bare = typed.replace(/[.,;:!?)\]}]+$/, "");
  for (const path of [typed, bare]) {
    const kind = path === "" ? undefined : kindOf(path, cwd);
    // Only a trailing "/" marks a folder; without it the word may be a package or a user name.
    if (kind === "file" || (kind === "folder" && path.endsWith("/"))) return { word, path, kind };
    if (kind === "folder") return undefined;
  }
  return looksLikePath(bare, cwd) ? { word, path: bare, kind: "missing" } : undefined;
}

/** Anything else that exists counts as a file: `read` reports what is wrong with it. */
function kindOf(path: string, cwd: string): "file" | "folder" | undefined {
  try {
    return statSync(resolve(cwd, path)).isDirectory() ? "folder" : "file";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EACCES" || code === "ELOOP" ? "file" : undefined;
  }
}

const EXTENSION = /[^./]\.[A-Za-z][A-Za-z0-9]{0,3}$/;

/** Neither `@decorator` nor `@scope/package` does, unless a folder of that name exists. */
function looksLikePath(path: string, cwd: string): boolean {
  if (/^(?:\.{1,2}|~)?\//.test(path)) return true;
  const [first = "", ...rest] = path.split("/");
  if (rest.length === 0) return EXTENSION.test(path);
  return rest.length > 1 || kindOf(first, cwd) === "folder";
}
