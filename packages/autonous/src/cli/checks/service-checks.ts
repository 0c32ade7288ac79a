import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { makeVisible } from "@autonous/runtime/internal";
import { placeProblem, settingProblem } from "../../received/inbox-folder.ts";
import { isStateFolderLocked, lockHolder } from "../../store/sqlite/state-lock.ts";
import type { Check, CheckResult } from "./checks.ts";
import { checkAll } from "./checks.ts";
import type { CheckOptions } from "./checks.ts";
import { inspectRuntime, runtimeOptions } from "../../workplace/runtime-options.ts";
import type { CheckedWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";

/** Checks for the service only; each channel adds its own. */
const SERVICE_CHECKS: readonly Check[] = [checkLock, checkPort, checkLogs, checkInbox];

/** The startup check of the service: the common checks and those for the service. */
export async function checkService(
  place: CheckedWorkplace,
  options: CheckOptions = {},
): Promise<readonly CheckResult[]> {
  const results = await Promise.all([
    checkAll(place, options),
    ...SERVICE_CHECKS.map(async (check) => [await check(place, options)]),
  ]);
  return results.flat();
}

/** A running service is only a warning: users also check the configuration before a restart. */
function checkLock({ state_dir }: Workplace): CheckResult {
  const check = "service";
  if (!isHeld(state_dir)) return { check, outcome: "ok", message: "not running on this state folder" };
  return {
    check,
    outcome: "warning",
    message: `${lockHolder(state_dir)} is already running on this state folder: a second start is refused`,
  };
}

function isHeld(state_dir: string): boolean {
  return existsSync(state_dir) && isStateFolderLocked(state_dir);
}

async function checkPort({ state_dir, configuration }: Workplace): Promise<CheckResult> {
  const { http_port } = configuration.settings;
  const check = "port";
  if (http_port === 0) return { check, outcome: "ok", message: "a free port is chosen at startup" };
  const code = await tryPort(http_port);
  const address = `127.0.0.1:${http_port}`;
  if (code === undefined) return { check, outcome: "ok", message: `${address} is free` };
  if (isHeld(state_dir)) return { check, outcome: "warning", message: `${address} is in use by the running service` };
  const why = code === "EACCES" ? "this user may not listen on it" : `in use by another program (${code})`;
  return { check, outcome: "failed", message: `${address}: ${why}; set AUTONOUS_HTTP_PORT to a free port` };
}

/** Returns the error code if the port cannot be used. */
async function tryPort(port: number): Promise<string | undefined> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Only a warning: the service also runs without a log file. */
function checkLogs({ state_dir }: Workplace): CheckResult {
  const check = "logs";
  const folder = join(state_dir, "logs");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return { check, outcome: "ok", message: `kept in ${folder}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      check,
      outcome: "warning",
      message: `"${folder}" cannot be written (${code}): no log file is written`,
    };
  }
}

/** Never fails because of the workspace's content: a task could have created it to block the start. */
async function checkInbox(place: Workplace): Promise<CheckResult> {
  const { inbox_folder: folder, telegram_token, telegram_max_files } = place.configuration.settings;
  const check = "inbox";
  if (telegram_token === undefined || telegram_max_files === 0)
    return { check, outcome: "ok", message: "off: no channel accepts files" };
  const inbox = { folder, cwd: place.cwd, roots: place.roots };
  const shown = `"${makeVisible(folder)}"`;
  const wrong = settingProblem(inbox);
  if (wrong !== undefined) return { check, outcome: "failed", message: `AUTONOUS_INBOX_FOLDER ${shown}: ${wrong}` };
  const problem = await inspectRuntime(runtimeOptions(place), (runtime) => placeProblem(inbox, runtime));
  if (problem === undefined) return { check, outcome: "ok", message: `files that users send are stored in ${shown}` };
  const way = "change that, or set AUTONOUS_INBOX_FOLDER to another folder";
  return { check, outcome: "warning", message: `${shown}: ${makeVisible(problem)}; ${way}` };
}

/** Warns at startup about a problem with the inbox, because every file sent to it would be refused. */
export function noteInbox(checks: readonly CheckResult[], say: (line: string) => void): void {
  const found = checks.find(({ check, outcome }) => check === "inbox" && outcome === "warning");
  if (found !== undefined) say(`Inbox ${found.message}`);
}
