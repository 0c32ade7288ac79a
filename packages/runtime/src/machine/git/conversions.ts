import { dirname, join, resolve } from "node:path";
import { parseGitConfig } from "../../policy/git-config.ts";
import { readRegular } from "../system/read-regular.ts";
import { ALL_DOUBTFUL, addDoubts, NO_DOUBTS } from "./attributes.ts";
import type { Doubts } from "./attributes.ts";

const MAX_CONFIGS = 64;
const MAX_BYTES = 1 << 20;
const OFF = /^(?:false|no|off|0|)$/i;

interface Ground {
  /** The repository's git folder. */
  readonly gitdir: string;
  readonly home: string;
}

/**
 * Doubts caused by git's configuration and by attributes outside the work tree. Conditional includes are always
 * included; their conditions are not evaluated.
 */
export function doubtsBySettings({ gitdir, home }: Ground): Doubts {
  const configHome = process.env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  const waiting = [
    join(gitdir, "config"),
    join(gitdir, "config.worktree"),
    join(home, ".gitconfig"),
    join(configHome, "git/config"),
    "/etc/gitconfig",
  ];
  const attributes = [join(gitdir, "info/attributes"), join(configHome, "git/attributes"), "/etc/gitattributes"];
  const read = new Set<string>();
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (read.has(next)) continue;
    if (read.add(next).size > MAX_CONFIGS) return ALL_DOUBTFUL;
    const text = readText(next);
    const settings = text === undefined ? undefined : parseGitConfig(text);
    if (settings === undefined) return ALL_DOUBTFUL;
    for (const { key, value = "true" } of settings) {
      if (key === "core.autocrlf" && !OFF.test(value)) return ALL_DOUBTFUL;
      const path = resolve(dirname(next), value.replace(/^~(?=\/)/, home));
      if (key === "core.attributesfile") attributes.push(path);
      if (/^include(?:if\..*)?\.path$/s.test(key)) waiting.push(path);
    }
  }
  return attributes.reduce((doubts, path) => {
    const text = readText(path);
    return text === undefined ? ALL_DOUBTFUL : addDoubts(doubts, text);
  }, NO_DOUBTS);
}

/** One character per byte; empty if the file is missing. Undefined if it cannot be read. */
function readText(path: string): string | undefined {
  try {
    return readRegular(path, MAX_BYTES)?.toString("latin1");
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? "" : undefined;
  }
}
