import { accessSync, constants, existsSync, mkdirSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { createRuntime, findProgram, headsFolder, inspectSandbox, PROGRAMS } from "@autonous/runtime";
import type { ProgramName, SandboxReport } from "@autonous/runtime";
import { unknownVariables } from "../config/load.ts";
import type { ConfigurationFile } from "../config/load.ts";
import { measureRequest } from "../agent/request.ts";
import { createProvider } from "../model/choose.ts";
import { breakerState } from "../model/circuit-breaker.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import { runtimeOptions } from "./open-runtime.ts";
import type { Workplace } from "./open-runtime.ts";
import { readProject } from "./project-text.ts";

export interface CheckResult {
  readonly check: string;
  readonly outcome: "ok" | "warning" | "failed";
  readonly message: string;
  /** Of the sandbox: each way out that was tried. */
  readonly attempts?: SandboxReport["attempts"];
}

type Check = (place: Workplace) => Promise<CheckResult> | CheckResult;

/** What each part says of itself, in the order that a start needs them. */
const CHECKS: readonly Check[] = [
  checkNode,
  checkConfiguration,
  checkRootsAndState,
  checkHeads,
  checkSpace,
  checkStore,
  checkModel,
  checkFirstRequest,
];

export async function checkAll(place: Workplace): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of CHECKS) results.push(await check(place));
  for (const name of Object.keys(PROGRAMS) as ProgramName[]) results.push(await checkProgram(name, place));
  results.push(await checkSandbox(place));
  return results;
}

/** Whether commands can be kept in, by trying to get out. */
async function checkSandbox({ roots, cwd, state_dir, configuration }: Workplace): Promise<CheckResult> {
  const { sandbox } = configuration.settings;
  if (sandbox === "off") return { check: "sandbox", outcome: "warning", message: "off: every command is asked for" };
  try {
    const { level, problem, attempts } = await inspectSandbox({ roots, cwd, state_dir, sandbox });
    if (level === "none") {
      const effect = sandbox === "required" ? "no command runs" : "every command is asked for";
      return {
        check: "sandbox",
        outcome: sandbox === "required" ? "failed" : "warning",
        message: `none: ${problem ?? "there is none"}; ${effect}`,
      };
    }
    const out = attempts.filter(({ outcome }) => outcome === "escaped");
    const tried = attempts.filter(({ outcome }) => outcome !== "not_tried").length;
    const message =
      out.length === 0
        ? `${level}: ${tried} ways out tried, all blocked`
        : `${level}: ${out.map(({ attempt }) => attempt).join(", ")} got out`;
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

/** The release since which the embedded store is no experiment any more. */
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
  if (owner === "user") return read === undefined ? "is not there, which is fine" : "is read";
  if (read === undefined) return "is not read";
  return trusted ? "is read and trusted" : "is read and not trusted: it can only narrow";
}

function checkRootsAndState({ roots, state_dir }: Workplace): CheckResult {
  try {
    mkdirSync(state_dir, { recursive: true, mode: 0o700 });
    accessSync(state_dir, constants.R_OK | constants.W_OK);
  } catch (error) {
    return {
      check: "workspace",
      outcome: "failed",
      message: `the state folder "${state_dir}" cannot be written (${(error as NodeJS.ErrnoException).code}); set AUTONOUS_STATE_DIR to one that can`,
    };
  }
  return { check: "workspace", outcome: "ok", message: `roots ${roots.join(", ")}; state in ${state_dir}` };
}

function checkHeads(): CheckResult {
  const folder = headsFolder();
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return { check: "heads", outcome: "ok", message: `the ends of all chains are kept in ${folder}` };
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
  const { bavail, bsize } = statfsSync(existsSync(state_dir) ? state_dir : dirname(state_dir));
  const free = bavail * bsize;
  const message = `${Math.floor(free / 1024 / 1024)} MiB free for the record`;
  return { check: "space", outcome: free < LITTLE_SPACE_BYTES ? "warning" : "ok", message };
}

/** Looks at the service's store where there is one; makes none. */
async function checkStore({ state_dir }: Workplace): Promise<CheckResult> {
  const file = databaseFile(state_dir);
  if (!existsSync(file)) return { check: "store", outcome: "ok", message: "no store yet; serve makes it" };
  try {
    const store = await openStore({ file, clock: Date.now });
    await store.close();
    return { check: "store", outcome: "ok", message: file };
  } catch (error) {
    return { check: "store", outcome: "failed", message: (error as Error).message };
  }
}

async function checkModel({ configuration }: Workplace): Promise<CheckResult> {
  try {
    const { name } = await createProvider(configuration.settings.model);
    const breakers = breakerState().map(({ provider, state }) => `circuit to ${provider} ${state}`);
    return { check: "model", outcome: "ok", message: [name, ...breakers].join("; ") };
  } catch (error) {
    return { check: "model", outcome: "failed", message: (error as Error).message };
  }
}

/** What every request begins with, and so what every turn costs at least. */
async function checkFirstRequest(place: Workplace): Promise<CheckResult> {
  const check = "first request";
  try {
    const provider = await createProvider(place.configuration.settings.model);
    if (provider.wants_all_tools === true) return { check, outcome: "ok", message: "none: no model is asked" };
    const runtime = await createRuntime(runtimeOptions(place));
    try {
      const measured = measureRequest({ provider, runtime, project: await readProject(place) });
      const { bytes, tokens, tools, deferred } = measured;
      const more = deferred > 0 ? `, ${deferred} more by tool_search` : "";
      return {
        check,
        outcome: "ok",
        message: `about ${tokens} tokens (${bytes} bytes) before the task: ${tools} tools${more}`,
      };
    } finally {
      await runtime.close();
    }
  } catch (error) {
    return { check, outcome: "warning", message: `cannot be measured: ${(error as Error).message}` };
  }
}
