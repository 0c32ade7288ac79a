import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { redact, secretsOf } from "@autonous/runtime";
import { Bell } from "../../channels/bell.ts";
import { httpCommander } from "../../channels/console/commander.ts";
import type { RouteParts } from "../../channels/console/routes.ts";
import { startConsole } from "../../channels/console/server.ts";
import type { Console } from "../../channels/console/server.ts";
import { deliver } from "../../queue/deliver.ts";
import { openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import { lockStateFolder } from "../../supervisor/lock.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import { checkAll } from "../checks.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { databaseFile, findWorkplace } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";
import { showChecks } from "./doctor.ts";

const DRAIN_MS = 10_000;
const LOOK_MS = 500;

/** `autonous serve`: the supervisor. It takes messages in and sends replies out; tasks are done by its worker. */
export async function serve(input: CommandInput): Promise<ExitCode> {
  const { print, options } = input;
  const place = findWorkplace(input);
  if (options["root"] === undefined && place.configuration.settings.tool_allowed_roots === undefined) {
    throw new UsageError(
      "Cannot serve without a root: set AUTONOUS_TOOL_ALLOWED_ROOTS to the folders that tools may touch, or give --root <folder>",
    );
  }
  const checks = await checkAll(place);
  if (options["check"] === true || checks.some((check) => check.outcome === "failed")) {
    showChecks(checks, print);
    return checks.some((check) => check.outcome === "failed") ? EXIT.failed : EXIT.done;
  }
  return await runService(place, input);
}

async function runService(place: Workplace, { print, signal, options }: CommandInput): Promise<ExitCode> {
  const { state_dir } = place;
  mkdirSync(state_dir, { recursive: true, mode: 0o700 });
  const unlock = lockStateFolder(state_dir);
  const store = await openStore({ file: databaseFile(state_dir), clock: Date.now });
  await store.inbox.recover(0); // whoever held a lane under an earlier supervisor is gone
  const bell = new Bell();
  const supervisor = new Supervisor({
    program: process.argv[1] ?? "",
    words: workerWords(options),
    onRecorded: () => bell.ring(),
    onWorkerEnd: async (worker) => void (await store.inbox.releaseWorker(worker)),
    log: print.note,
  });
  const known = secretsOf(process.env);
  const parts = {
    store,
    bell,
    onTask: () => supervisor.wake(),
    redact: (text: string) => redact(text, { known }).text,
  };
  const server = await startServer(parts, place);
  supervisor.start();
  announce(server, place, print);
  const stopped = new AbortController();
  const outbox = deliverUntil(stopped.signal, { store, bell, supervisor, log: print.note });
  await untilStopped(signal);
  print.note("Stopping: the task in hand is finished first. Once more to stop at once");
  process.once("SIGINT", () => supervisor.kill()).once("SIGTERM", () => supervisor.kill());
  await supervisor.stop(DRAIN_MS);
  stopped.abort();
  bell.ring();
  await outbox;
  await server.close();
  await store.close();
  unlock();
  return EXIT.done;
}

function workerWords(options: CommandInput["options"]): string[] {
  const roots = (options["root"] as readonly string[] | undefined) ?? [];
  const state = options["stateDir"] as string | undefined;
  return [
    "worker",
    ...roots.flatMap((root) => ["--root", root]),
    ...(state === undefined ? [] : ["--state-dir", state]),
  ];
}

async function startServer(parts: RouteParts, place: Workplace): Promise<Console & { token: string }> {
  const { http_port: port } = place.configuration.settings;
  const token = readToken(place.state_dir);
  try {
    return { ...(await startConsole({ ...parts, token, port })), token };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw new UsageError(
      `Cannot listen on 127.0.0.1:${port}: another program does. Set AUTONOUS_HTTP_PORT to a free port`,
    );
  }
}

/** Made at the first start and kept, so that what was set up with it goes on working. */
function readToken(state_dir: string): string {
  const path = join(state_dir, "http.token");
  try {
    writeFileSync(path, randomBytes(24).toString("base64url"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFileSync(path, "utf8").trim();
}

function announce(
  { url, token }: Console & { token: string },
  { roots, configuration }: Workplace,
  print: CommandInput["print"],
): void {
  const curl = `curl -N -H "Authorization: Bearer ${token}" -d '{"text":"/ls ."}' ${url}/api/tasks`;
  if (print.json) print.document({ url, token, roots, model: configuration.settings.model });
  print.text(
    `Serving ${roots.join(", ")} on ${url} (model ${configuration.settings.model}, profile ${configuration.settings.profile}). Try it:\n\n  ${curl}\n`,
  );
}

interface DeliverParts {
  readonly store: Store;
  readonly bell: Bell;
  readonly supervisor: Supervisor;
  readonly log: (line: string) => void;
}

async function deliverUntil(stopped: AbortSignal, { store, bell, supervisor, log }: DeliverParts): Promise<void> {
  for (;;) {
    const rung = bell.wait(LOOK_MS);
    const last = stopped.aborted;
    const sent = await deliver({
      store,
      commanders: [httpCommander],
      onProblem: (problem) => log(`A reply could not be sent: ${(problem as Error).message}`),
    });
    if (sent > 0) {
      bell.ring(); // who follows the task sees that its reply went out
      supervisor.wake(); // and the worker follows the record into the run's file
    }
    if (last) return;
    await rung;
  }
}

async function untilStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
