import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createRuntime, makeVisible } from "@autonous/runtime";
import { placeProblem, settingProblem } from "../../received/inbox-folder.ts";
import { isStateFolderLocked, lockHolder } from "../../store/sqlite/state-lock.ts";
import type { Check, CheckResult } from "./checks.ts";
import { checkAll } from "./checks.ts";
import type { CheckOptions } from "./checks.ts";
import { plainOptions } from "../session/open-runtime.ts";
import type { Workplace } from "../session/open-runtime.ts";

/** What only a service needs. Each channel has one. */
const SERVICE_CHECKS: readonly Check[] = [checkLock, checkPort, checkLogs, checkInbox];

/** The self-check of a start: what every command needs, and what only a service does. */
export async function checkService(place: Workplace, options: CheckOptions = {}): Promise<readonly CheckResult[]> {
  const results = await Promise.all([
    checkAll(place, options),
    ...SERVICE_CHECKS.map(async (check) => [await check(place, options)]),
  ]);
  return results.flat();
}

/** A service that runs already is no fault: to look at the configuration that its next start gets is what this is for. */
function checkLock({ state_dir }: Workplace): CheckResult {
  const check = "service";
  if (!isHeld(state_dir)) return { check, outcome: "ok", message: "none runs on this state folder" };
  return { check, outcome: "warning", message: `${lockHolder(state_dir)} serves from it: another start is refused` };
}

function isHeld(state_dir: string): boolean {
  return existsSync(state_dir) && isStateFolderLocked(state_dir);
}

async function checkPort({ state_dir, configuration }: Workplace): Promise<CheckResult> {
  const { http_port } = configuration.settings;
  const check = "port";
  if (http_port === 0) return { check, outcome: "ok", message: "a free one is taken" };
  const code = await tryPort(http_port);
  const address = `127.0.0.1:${http_port}`;
  if (code === undefined) return { check, outcome: "ok", message: `${address} is free` };
  if (isHeld(state_dir)) return { check, outcome: "warning", message: `${address} is taken, by the service that runs` };
  const why = code === "EACCES" ? "this user may not listen on it" : `another program has it (${code})`;
  return { check, outcome: "failed", message: `${address}: ${why}; set AUTONOUS_HTTP_PORT to a free port` };
}

/** Gives what the system has against it. */
async function tryPort(port: number): Promise<string | undefined> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The service runs without its log too; whoever looks for it should know. */
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
      message: `"${folder}" cannot be written (${code}): nothing is logged to a file`,
    };
  }
}

/** What is in the workspace keeps no service from starting: a task could have put it there. */
async function checkInbox(place: Workplace): Promise<CheckResult> {
  const { inbox_folder: folder, telegram_token, telegram_max_files } = place.configuration.settings;
  const check = "inbox";
  if (telegram_token === undefined || telegram_max_files === 0)
    return { check, outcome: "ok", message: "off: no channel takes files" };
  const inbox = { folder, cwd: place.cwd, roots: place.roots };
  const shown = `"${makeVisible(folder)}"`;
  const wrong = settingProblem(inbox);
  if (wrong !== undefined) return { check, outcome: "failed", message: `AUTONOUS_INBOX_FOLDER ${shown}: ${wrong}` };
  const runtime = await createRuntime({ ...plainOptions(place), looking: true });
  try {
    const problem = await placeProblem(inbox, runtime);
    if (problem === undefined) return { check, outcome: "ok", message: `files that people send go into ${shown}` };
    const way = "change that, or set AUTONOUS_INBOX_FOLDER to another folder";
    return { check, outcome: "warning", message: `${shown}: ${makeVisible(problem)}; ${way}` };
  } finally {
    await runtime.close();
  }
}

/** What whoever starts the service should know of the inbox, since its files would be refused one by one. */
export function noteInbox(checks: readonly CheckResult[], say: (line: string) => void): void {
  const found = checks.find(({ check, outcome }) => check === "inbox" && outcome === "warning");
  if (found !== undefined) say(`Inbox ${found.message}`);
}
