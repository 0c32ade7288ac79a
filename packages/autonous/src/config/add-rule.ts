import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { PolicyRule } from "@autonous/runtime";
import { ConfigurationError, configurationPath } from "./load.ts";
import { parseConfiguration, readOwnText } from "./read-file.ts";

/**
 * Appends a rule to the user's own configuration file, atomically; the rest is kept. Returns the
 * file's path. Throws `ConfigurationError` if the file is invalid, instead of overwriting it. The caller must
 * serialize calls, or a concurrently added rule would be lost.
 */
export function addRule(rule: PolicyRule, environment: NodeJS.ProcessEnv): string {
  const path = configurationPath(environment);
  replace(path, withRule(readWhole(path), rule));
  return path;
}

function readWhole(path: string): string | undefined {
  const problems: string[] = [];
  const text = readOwnText(path, problems);
  if (text !== undefined) parseConfiguration(path, text, problems);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return text;
}

function withRule(text: string | undefined, rule: PolicyRule): string {
  const written = JSON.parse(text ?? "{}") as { readonly rules?: readonly PolicyRule[] };
  const indent = /^[ \t]+(?=")/m.exec(text ?? "")?.[0] ?? "  ";
  return `${JSON.stringify({ ...written, rules: [...(written.rules ?? []), rule] }, null, indent)}\n`;
}

/** Writes to the target of a symlink, because some users keep such files elsewhere. */
function replace(path: string, text: string): void {
  const target = endOfLinks(path);
  const { mode = 0o600 } = statSync(target, { throwIfNoEntry: false }) ?? {};
  const temporary = `${target}.${process.pid}.new`;
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  try {
    writeSynced(temporary, text, mode & 0o777);
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeSynced(path: string, text: string, mode: number): void {
  const fd = openSync(path, "w", mode);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** The limit of Linux. */
const MAX_LINKS = 40;

/** The target of a path with symlinks, which may not exist yet. */
function endOfLinks(path: string): string {
  let end = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    const next = linkAt(end);
    if (next === undefined) return end;
    end = resolve(dirname(end), next);
  }
  throw new ConfigurationError([`${path} is part of a symlink loop`]);
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EINVAL" || code === "ENOENT") return undefined; // not a link, or missing
    throw error;
  }
}
