import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import {
  checkConfiguration,
  locateJson,
  nearestNames,
  NotAFileError,
  readOwnText as readOwnFile,
} from "@autonous/runtime/internal";
import type { PolicyConfiguration } from "@autonous/runtime";
import type { LocatedJson } from "@autonous/runtime/internal";
import { readModels } from "./model-table.ts";
import type { ModelTable } from "./model-table.ts";
import { readPrices } from "./price-table.ts";
import type { PriceTable } from "./price-table.ts";
import { checkValue, SETTINGS } from "./settings.ts";
import type { SettingName, SettingValue } from "./settings.ts";

/** Far larger than any handwritten file. */
const MAX_BYTES = 1_048_576;

/** A parsed configuration file. */
export interface ReadFile {
  readonly path: string;
  readonly sha256: string;
  /** The settings in the file. */
  readonly named: ReadonlyMap<SettingName, SettingValue>;
  readonly policy: PolicyConfiguration;
  /** Prices of models. Only those of the user's own file count. */
  readonly prices?: PriceTable;
  /** Settings per model. Only those of the user's own file count. */
  readonly models?: ModelTable;
  /** Paths of files that export tools and handlers, unresolved. */
  readonly modules?: readonly string[];
  /** Unknown names, each with its message: "is not a setting; did you mean …". */
  readonly unknown: readonly { readonly key: string; readonly why: string }[];
  /** The `<file>:<line>:<column>` of a part. */
  where(path: readonly (string | number)[]): string;
  lineOf(path: readonly (string | number)[]): number;
}

/** Parses a file; adds every mistake to `problems`, with its position. */
export function parseConfiguration(path: string, text: string, problems: string[]): ReadFile | undefined {
  const located = locateJson(text);
  if ("problem" in located) {
    problems.push(`${path}:${located.place.line}:${located.place.column}: not valid JSON: ${located.problem}`);
    return undefined;
  }
  const where = whereIn(path, located);
  const { value } = located;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    problems.push(`${where([])}: it has to contain a JSON object`);
    return undefined;
  }
  for (const { name, place } of located.repeated) {
    problems.push(`${path}:${place.line}:${place.column}: ${JSON.stringify(name)} appears twice`);
  }
  return {
    path,
    sha256: hash("sha256", text),
    ...readContent(value as Readonly<Record<string, unknown>>, where, problems),
    where,
    lineOf: (part) => located.placeOf(part).line,
  };
}

type Where = ReadFile["where"];

function whereIn(path: string, located: LocatedJson): Where {
  return (part) => {
    const { line, column } = located.placeOf(part);
    return `${path}:${line}:${column}`;
  };
}

/** The parts of the policy that a file may contain: all of them. */
// oxfmt-ignore
const POLICY_PARTS = {
  tools: true, rules: true, quotas: true, network: true, approve: true, reverse_thinking: true,
} as const satisfies Record<keyof PolicyConfiguration, true>;

function readContent(
  content: Readonly<Record<string, unknown>>,
  where: Where,
  problems: string[],
): Pick<ReadFile, "named" | "policy" | "prices" | "models" | "modules" | "unknown"> {
  const named = new Map<SettingName, SettingValue>();
  const unknown: { key: string; why: string }[] = [];
  const policyPart: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(content)) {
    if (Object.hasOwn(SETTINGS, key)) {
      const checked = checkValue(key as SettingName, value);
      if ("problem" in checked) problems.push(`${where([key])}: "${key}" ${checked.problem}`);
      else named.set(key as SettingName, checked.value);
    } else if (Object.hasOwn(POLICY_PARTS, key)) policyPart[key] = value;
    else if (!OTHER_PARTS.has(key))
      unknown.push({ key, why: unknown.length < MAX_GUESSES ? unknownKey(key) : NOT_A_SETTING });
  }
  const { configuration: policy, problems: wrong } = checkConfiguration(policyPart);
  problems.push(...wrong.map((each) => `${where(partOf(each))}: ${each}`));
  const modules = readModules(content["modules"], where, problems);
  return { named, policy, unknown, ...readTables(content, where, problems), ...modules };
}

/** `prices` and `models`, if the file has them. */
function readTables(
  content: Readonly<Record<string, unknown>>,
  where: Where,
  problems: string[],
): Pick<ReadFile, "prices" | "models"> {
  const tables: { prices?: PriceTable; models?: ModelTable } = {};
  if (Object.hasOwn(content, "prices")) {
    const { prices, problems: wrong } = readPrices(content["prices"]);
    problems.push(...wrong.map((each) => `${where(["prices"])}: ${each}`));
    tables.prices = prices;
  }
  if (Object.hasOwn(content, "models")) {
    const { models, problems: wrong } = readModels(content["models"]);
    problems.push(...wrong.map(({ path, problem }) => `${where(["models", ...path])}: ${problem}`));
    tables.models = models;
  }
  return tables;
}

/** What a file may contain apart from settings and policy. */
const OTHER_PARTS: ReadonlySet<string> = new Set(["$schema", "prices", "models", "modules"]);
const MAX_MODULES = 50;

function readModules(given: unknown, where: Where, problems: string[]): Pick<ReadFile, "modules"> {
  if (given === undefined) return {};
  const isList = Array.isArray(given) && given.every((each) => typeof each === "string" && each.trim() !== "");
  if (isList && given.length <= MAX_MODULES) return { modules: given as readonly string[] };
  problems.push(`${where(["modules"])}: "modules" has to be a list of at most ${MAX_MODULES} paths of files`);
  return {};
}

/** The part of the file that a policy problem refers to: its prefix, as in `rules.0.path: …`. */
function partOf(problem: string): readonly (string | number)[] {
  const path = /^[\w.]+/.exec(problem)?.[0] ?? "";
  return path.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

const NOT_A_SETTING = "is not a setting";
/** Suggestions take time, and no message lists more mistakes than this. */
const MAX_GUESSES = 100;

function unknownKey(key: string): string {
  const [nearest] = nearestNames(key, [...Object.keys(SETTINGS), ...Object.keys(POLICY_PARTS), ...OTHER_PARTS]);
  return `${NOT_A_SETTING}${nearest === undefined ? "" : `; did you mean "${nearest}"?`}`;
}

/** The text of the user's own file; symlinks are followed. Undefined if it does not exist. */
export function readOwnText(path: string, problems: string[]): string | undefined {
  try {
    return readOwnFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof NotAFileError) problems.push(message);
    else if (code !== "ENOENT" && code !== "ENOTDIR") problems.push(`${path} cannot be read (${code})`);
    return undefined;
  }
}

/** The path of a project's configuration, independent of the state folder. */
export function projectPath(folder: string): string {
  return join(folder, ".agent", "config.json");
}

/**
 * The text of a project's file, which has to be a regular file without symlinks in its path: the file that the user
 * reviews and trusts is the one that is read. Undefined if it does not exist.
 */
export function readProjectText(folder: string): { readonly text: string } | { readonly refused: string } | undefined {
  const path = projectPath(folder);
  let fd: number;
  try {
    // Without O_NONBLOCK, opening a pipe would block until another process writes to it.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { refused: code === "ELOOP" ? "it is a link" : `it cannot be read (${code})` };
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return { refused: "it is not a regular file" };
    if (stats.size > MAX_BYTES) return { refused: `it has ${stats.size} bytes, and at most ${MAX_BYTES} are read` };
    const real = readlinkSync(`/proc/self/fd/${fd}`);
    if (real !== path) return { refused: `it leads to "${real}"` };
    return { text: readFileSync(fd, "utf8") };
  } finally {
    closeSync(fd);
  }
}
