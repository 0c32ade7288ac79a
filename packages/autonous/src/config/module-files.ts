import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { dirname, extname, relative, resolve } from "node:path";
import { canonicalJson } from "@autonous/runtime/internal";
import type { TrustItem } from "./trust-store.ts";

/** A module in its current state: the file, and all files that it imports by relative paths, transitively. */
export interface BoundModule {
  readonly thing: TrustItem;
  /** By real path. This text is loaded, even if the files change afterwards. */
  readonly sources: ReadonlyMap<string, string>;
}

const MAX_FILES = 200;
const MAX_BYTES = 1_048_576;
/** The file types that Node.js loads without compilation. */
const EXTENSIONS: ReadonlySet<string> = new Set([".ts", ".mts", ".js", ".mjs", ".json"]);
/**
 * Relative specifiers of static and dynamic imports. A missed one is rejected at import time; a false match, such as in
 * a comment, only binds one file too many.
 */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.{1,2}\/[^"'\n]*)["']/g;

/** Reads a module and its imports. Returns the problem as a clause if that fails. */
export function bindModule(path: string): BoundModule | { readonly problem: string } {
  const sources = new Map<string, string>();
  let main: string | undefined;
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const read = readSource(next);
    if ("problem" in read) {
      if (main !== undefined && read.isMissing === true) continue; // rejected when it is imported
      return { problem: main === undefined ? read.problem : `"${next}", which it imports: ${read.problem}` };
    }
    main ??= read.real;
    if (sources.has(read.real)) continue;
    if (sources.size >= MAX_FILES) return { problem: `it imports more than ${MAX_FILES} files` };
    sources.set(read.real, read.text);
    for (const [, specifier = ""] of read.text.matchAll(IMPORT)) queue.push(resolve(dirname(read.real), specifier));
  }
  if (main === undefined) return { problem: "the file does not exist" };
  return { thing: thingOf(main, sources), sources };
}

function thingOf(main: string, sources: ReadonlyMap<string, string>): TrustItem {
  const files = [...sources]
    .map(([path, text]) => ({ path: relative(dirname(main), path), sha256: hash("sha256", text) }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  return { kind: "module", path: main, digest: hash("sha256", canonicalJson(files)), files };
}

type Source = { readonly real: string; readonly text: string };

function readSource(path: string): Source | { readonly problem: string; readonly isMissing?: true } {
  let fd: number;
  let real: string;
  try {
    real = realpathSync(path);
    fd = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK); // opening a pipe would block
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { problem: "the file does not exist", isMissing: true };
    return { problem: `it cannot be read (${code})` };
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { problem: "it is not a regular file", isMissing: true };
    if (stats.size > MAX_BYTES) return { problem: `it has ${stats.size} bytes, and at most ${MAX_BYTES} are read` };
    if (!EXTENSIONS.has(extname(real)))
      return { problem: `its name has to end in ${[...EXTENSIONS].slice(0, -1).join(", ")}` };
    return { real, text: readFileSync(fd, "utf8") };
  } finally {
    closeSync(fd);
  }
}
