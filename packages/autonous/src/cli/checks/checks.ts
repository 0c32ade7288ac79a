import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  findOldState,
  hasState,
  findProgram,
  headsFolder,
  inspectSandbox,
  migrationText,
  orphanedStates,
  PROGRAMS,
  readNotes,
  splitRootsOf,
  machineFacts,
} from "@autonous/runtime/internal";
import type { ProgramName, SandboxReport } from "@autonous/runtime/internal";
import { unknownVariables } from "../../config/load.ts";
import type { ConfigurationFile } from "../../config/load.ts";
import { inspectStore } from "../../store/inspect-store.ts";
import type { StoreReport } from "../../store/inspect-store.ts";
import { databaseFile } from "../../store/open-store.ts";
import { checkFirstRequest, checkModel } from "./check-model.ts";
import { checkNotes } from "../output/notes-notice.ts";
import { commandLimits, readModules } from "../../workplace/runtime-options.ts";
import type { CheckedWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";

export interface CheckResult {
  readonly check: string;
  readonly outcome: "ok" | "warning" | "failed";
  readonly message: string;
  /** Sandbox only: each escape attempt. */
  readonly attempts?: SandboxReport["attempts"];
}

export interface CheckOptions {
  /** Complete checks, even if slow. */
  readonly thorough?: boolean;
}

export type Check = (place: CheckedWorkplace, options: CheckOptions) => Promise<CheckResult> | CheckResult;

/** All checks, in the order in which startup needs them. */
const CHECKS: readonly Check[] = [
  checkNode,
  checkConfiguration,
  checkRootsAndState,
  checkHeads,
  checkSpace,
  checkLimits,
  checkTelegram,
  checkModules,
];

/** Checks that open the state folder: skipped if it is not trusted. */
const STATE_CHECKS: readonly Check[] = [checkStore, checkModel, checkNotesHere, checkFirstRequest, checkSandbox];

/** Runs all checks in parallel: they are independent, and all problems are reported at once. */
export async function checkAll(place: CheckedWorkplace, options: CheckOptions = {}): Promise<readonly CheckResult[]> {
  const programs = (Object.keys(PROGRAMS) as ProgramName[]).map(
    (name): Check =>
      (at) =>
        checkProgram(name, at),
  );
  const inState = place.state_problem === undefined ? STATE_CHECKS : [];
  return await Promise.all([...CHECKS, ...programs, ...inState].map(async (check) => await check(place, options)));
}

/** Tests the sandbox with real escape attempts. */
async function checkSandbox({ roots, cwd, state_dir, configuration }: Workplace): Promise<CheckResult> {
  const { sandbox } = configuration.settings;
  if (sandbox === "off") return { check: "sandbox", outcome: "warning", message: "off: every command needs approval" };
  try {
    const { level, problem, attempts } = await inspectSandbox({ roots, cwd, state_dir, sandbox });
    if (level === "none") {
      const effect = sandbox === "required" ? "no command runs" : "every command needs approval";
      return {
        check: "sandbox",
        outcome: sandbox === "required" ? "failed" : "warning",
        message: `none: ${problem ?? "not available"}; ${effect}`,
      };
    }
    const out = attempts.filter(({ outcome }) => outcome === "escaped");
    const tried = attempts.filter(({ outcome }) => outcome !== "not_tried").length;
    const message =
      out.length === 0
        ? `${level}: ${tried} escape attempts, all blocked`
        : `${level}: ${out.map(({ attempt }) => attempt).join(", ")} escaped`;
    return { check: "sandbox", outcome: out.length === 0 ? "ok" : "failed", message, attempts };
  } catch (error) {
    return { check: "sandbox", outcome: "failed", message: (error as Error).message };
  }
}

async function checkProgram(name: ProgramName, { roots }: Workplace): Promise<CheckResult> {
  const { use, install, needed } = PROGRAMS[name];
  const path = await findProgram(name, { roots });
  if (path !== undefined) return { check: name, outcome: "ok", message: `${path}, for ${use}` };
  const message = `not found; for ${use}: ${install}`;
  return { check: name, outcome: needed ? "failed" : "warning", message };
}

/** The first release in which `node:sqlite` is not experimental. */
const OLDEST_NODE = [24, 15] as const;

function checkNode(): CheckResult {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [wantedMajor, wantedMinor] = OLDEST_NODE;
  const fits = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  const message = fits
    ? `Node.js ${process.versions.node}`
    : `Node.js ${process.versions.node} is too old: ${OLDEST_NODE.join(".")} or newer is needed`;
  return { check: "node", outcome: fits ? "ok" : "failed", message };
}

function checkConfiguration({ configuration: { files, refused } }: Workplace): CheckResult {
  const unknown = unknownVariables(process.env);
  const read = files.map((file) => `${file.path} ${howRead(file)}`);
  const left = refused.map(({ what, where, why }) => `not in force: ${what} (${where}): ${why}`);
  const hint = refused.some(({ until_trusted }) => until_trusted) ? ["autonous policy trust shows and trusts it"] : [];
  return {
    check: "configuration",
    outcome: unknown.length === 0 && refused.length === 0 ? "ok" : "warning",
    message: [...read, ...left, ...hint, ...unknown].join("; "),
  };
}

function howRead({ owner, trusted, read }: ConfigurationFile): string {
  if (owner === "user") return read === undefined ? "does not exist (optional)" : "is read";
  if (read === undefined) return "is not read";
  return trusted ? "is read and trusted" : "is read but not trusted: it can only narrow the policy";
}

function checkRootsAndState({
  roots,
  opened,
  state_dir,
  state_problem,
  state_is_named,
}: CheckedWorkplace): CheckResult {
  if (state_problem !== undefined) return { check: "workspace", outcome: "failed", message: state_problem };
  try {
    accessSync(nearestExisting(state_dir), constants.R_OK | constants.W_OK);
  } catch (error) {
    return {
      check: "workspace",
      outcome: "failed",
      message: `the state folder "${state_dir}" cannot be written (${(error as NodeJS.ErrnoException).code}); set AUTONOUS_STATE_DIR to one that can`,
    };
  }
  const { open, own } = splitRootsOf(state_dir, roots);
  const more = state_is_named ? [] : [...oldState(opened), ...movedState(state_dir)];
  return {
    check: "workspace",
    outcome: more.length === 0 ? "ok" : "warning",
    message: [`roots ${open.join(", ")}`, stateText(state_dir, own), ...more].join("; "),
  };
}

function stateText(state_dir: string, own: readonly string[]): string {
  return `state in ${state_dir}${own.length === 0 ? "" : ", which is named as a root but stays off limits to all tools"}`;
}

/** State of an earlier version in the workspace. */
function oldState(roots: readonly string[]): readonly string[] {
  const found = findOldState({ workspace: process.cwd(), roots });
  if (found === undefined) return [];
  return [
    found.left === undefined ? `the next command moves the state in "${found.from}" there` : migrationText(found),
  ];
}

/** A moved or renamed workspace gets a different state folder. */
function movedState(state_dir: string): readonly string[] {
  if (hasState(state_dir)) return [];
  const orphans = orphanedStates();
  if (orphans.length === 0) return [];
  return [
    `no runs recorded here yet. If this workspace was moved, its state may be in ${orphans.join(", ")}, whose workspace is gone: autonous state adopt <that folder>`,
  ];
}

function checkHeads(): CheckResult {
  const folder = headsFolder();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return { check: "heads", outcome: "ok", message: `chain heads are stored in ${folder}` };
  } catch (error) {
    return {
      check: "heads",
      outcome: "failed",
      message: `"${folder}" cannot be written (${(error as NodeJS.ErrnoException).code}); set XDG_STATE_HOME to a folder that can`,
    };
  }
}

const LITTLE_SPACE_BYTES = 100 * 1024 * 1024;

function checkSpace({ state_dir }: Workplace): CheckResult {
  const { bavail, bsize } = statfsSync(nearestExisting(state_dir));
  const free = bavail * bsize;
  const message = `${Math.floor(free / 1024 / 1024)} MiB free for the state folder`;
  return { check: "space", outcome: free < LITTLE_SPACE_BYTES ? "warning" : "ok", message };
}

function nearestExisting(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? nearestExisting(dirname(path)) : path;
}

/** Checks the service's store if it exists; never creates one. */
async function checkStore({ state_dir }: Workplace, { thorough = false }: CheckOptions): Promise<CheckResult> {
  const file = databaseFile(state_dir);
  if (!existsSync(file)) return { check: "store", outcome: "ok", message: "no store yet; serve creates it" };
  try {
    return {
      check: "store",
      outcome: "ok",
      message: `${file}, ${describeStore(await inspectStore(file, { thorough }))}`,
    };
  } catch (error) {
    return { check: "store", outcome: "failed", message: (error as Error).message };
  }
}

function describeStore({ bytes, pending, keepsCopy, looked }: StoreReport): string {
  return [
    `${Math.ceil(bytes / 1024 / 1024)} MiB`,
    looked ? "intact" : "too large to verify at startup (serve --check does)",
    ...(pending.length === 0 ? [] : [`migration ${pending.join(", ")} runs when it is opened`]),
    ...(keepsCopy ? ["which keeps a copy next to it, because older versions cannot open the migrated one"] : []),
  ].join(", ");
}

async function checkTelegram({ configuration, state_dir, state_problem }: CheckedWorkplace): Promise<CheckResult> {
  const { telegram_token: token, telegram_api_root: api_root, telegram_allowed_users = [] } = configuration.settings;
  const check = "telegram";
  if (token === undefined) return { check, outcome: "ok", message: "off: AUTONOUS_TELEGRAM_TOKEN is not set" };
  const telegram = await import("../../channels/telegram/check.ts");
  const file = databaseFile(state_dir);
  const store = state_problem === undefined && existsSync(file) ? { file } : {};
  return {
    check,
    ...(await telegram.checkTelegram({ token, api_root, allowed_users: telegram_allowed_users, ...store })),
  };
}

function checkNotesHere({ roots, cwd, state_dir, configuration }: Workplace): CheckResult {
  try {
    return checkNotes(readNotes({ roots, cwd, state_dir, settings: configuration.policy }));
  } catch (error) {
    return { check: "notes", outcome: "warning", message: `cannot be read: ${(error as Error).message}` };
  }
}

const MEBIBYTE = 1_048_576;

/** The resource limits of commands, and whether they protect this machine. */
export function checkLimits({ configuration }: Pick<Workplace, "configuration">): CheckResult {
  const { memory_bytes = 0, file_bytes = 0, processes = 0, open_files = 0 } = commandLimits(configuration.settings);
  const machine = machineFacts();
  const limits = `a command gets ${megabytes(memory_bytes)} of memory, ${processes} processes, files of ${megabytes(file_bytes)}, ${open_files} open files`;
  const here = `this machine has ${megabytes(machine.memory_bytes)} of memory and ${machine.processors} processors`;
  if (memory_bytes < machine.memory_bytes) return { check: "limits", outcome: "ok", message: `${limits}; ${here}` };
  const way = "set AUTONOUS_COMMAND_MEMORY_MEGABYTES lower";
  return { check: "limits", outcome: "warning", message: `${limits}; ${here}, so one command can use it up: ${way}` };
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}

/** What the modules provide, and which of them are not in force. */
async function checkModules(place: Workplace): Promise<CheckResult> {
  const check = "modules";
  const { loaded, refused, broken } = await readModules(place);
  // Only a warning: the service starts without their tools.
  const missing = [...broken, ...refused];
  if (missing.length > 0) return { check, outcome: "warning", message: missing.join("; ") };
  if (loaded.length === 0) return { check, outcome: "ok", message: "none configured" };
  const given = loaded.map(({ path, tools, handlers }) => `${path} (${[...tools, ...handlers].join(", ")})`);
  return { check, outcome: "ok", message: given.join("; ") };
}
