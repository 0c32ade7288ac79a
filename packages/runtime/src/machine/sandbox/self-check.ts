import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  lstatSync,
  readdirSync,
} from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CommandLimits } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import { handoverFolder } from "../processes/launch.ts";
import { allPids, isAlive, signalProcess } from "../processes/process-tree.ts";
import { runCommand } from "../processes/run.ts";
import type { Launch } from "../processes/launch.ts";
import { ATTEMPTS } from "./escape-attempts.ts";
import type { Attempt, Bait } from "./escape-attempts.ts";
import type { Sandbox } from "./sandbox.ts";
import { isArchitecture } from "./seccomp.ts";
import { randomBytes } from "node:crypto";

export interface EscapeAttempt {
  readonly attempt: string;
  /** `not_tried`: it needs a program that is not installed. */
  readonly outcome: "blocked" | "escaped" | "not_tried";
  readonly detail: string;
}

export interface SelfCheckOptions {
  readonly roots: readonly string[];
  readonly home: string;
  readonly state_dir: string;
  readonly limits: CommandLimits;
}

/** Where other programs usually have sockets, and where a temporary one disturbs no one. */
const SOCKETS = "/tmp";
const ATTEMPT_MS = 10_000;
/** Attempts print little; this limit keeps a runaway one from filling the memory. */
const PRINTED_LENGTH = 65_536;

/** Tries to escape from a sandbox in all known ways, with planted targets that are removed afterwards. */
export async function checkSandbox(sandbox: Sandbox, options: SelfCheckOptions): Promise<readonly EscapeAttempt[]> {
  if (sandbox.level === "none" || !isArchitecture(process.arch)) return [];
  const outcomes: EscapeAttempt[] = [];
  let targets = await plantTargets(options);
  try {
    for (const attempt of ATTEMPTS) {
      const outcome = await tryAttempt(attempt, { sandbox, options, targets });
      outcomes.push(outcome);
      if (outcome.outcome !== "escaped") continue;
      targets.clear(); // the next attempt must not find traces of this one
      targets = await plantTargets(options);
    }
    return outcomes;
  } finally {
    targets.clear();
  }
}

/** What was planted, and how to see whether it was touched. */
interface TestTargets {
  readonly planted: Bait;
  /** A clause about what was reached; undefined where nothing was. */
  damage(): string | undefined;
  clear(): void;
}

async function tryAttempt(
  { attempt, script }: Attempt,
  { sandbox, options, targets }: { sandbox: Sandbox; options: SelfCheckOptions; targets: TestTargets },
): Promise<EscapeAttempt> {
  const launch = (): Launch => sandbox.launch({ run: script(targets.planted), cwd: options.roots[0] ?? "/" });
  const printed = { stdout: "", stderr: "" };
  await runCommand(launch, {
    call_id: "self-check",
    timeout_ms: ATTEMPT_MS,
    signal: new AbortController().signal,
    limits: options.limits,
    onOutput(stream, piece) {
      if (printed[stream].length < PRINTED_LENGTH) printed[stream] += piece.toString("latin1");
    },
  });
  const output = printed.stdout;
  const damage =
    targets.damage() ?? (output.includes(targets.planted.secret) ? "the planted file was read" : undefined);
  if (damage !== undefined) return { attempt, outcome: "escaped", detail: damage };
  if (output.includes("escaped")) return { attempt, outcome: "escaped", detail: "it was not refused" };
  if (output.includes("not_tried")) {
    return { attempt, outcome: "not_tried", detail: "it needs perl or python3, and neither is installed" };
  }
  return { attempt, outcome: "blocked", detail: printed.stderr.trim().split("\n")[0] ?? "" };
}

async function plantTargets({ roots, home, state_dir }: SelfCheckOptions): Promise<TestTargets> {
  const folder = handoverFolder(state_dir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keys = roots[0] ?? home;
  const outside = [home, "/var/tmp", tmpdir()].filter((each) => !roots.some((root) => isInside(root, each)));
  const hiddenHome = isHiddenHome(home, roots) ? home : folder;
  sweepCanaries([folder, keys, hiddenHome, SOCKETS]);
  const planted = {
    state_file: join(folder, newCanary()),
    secret: newCanary(),
    key_file: join(keys, `${newCanary()}.pem`),
    home_file: join(hiddenHome, newCanary()),
    new_files: [...outside, state_dir].map((each) => join(each, newCanary())),
    process_word: newCanary(),
    abstract_socket: newCanary(),
    named_socket: join(SOCKETS, newCanary()),
    renamed_socket: join(keys, newCanary()),
    left_word: newCanary(),
    architecture: process.arch === "arm64" ? ("arm64" as const) : ("x64" as const),
  };
  const files = [planted.state_file, planted.key_file, planted.home_file];
  for (const file of files) writeFileSync(file, planted.secret, { mode: 0o600 });
  // It reads from a pipe that only this process holds, so it always ends with this process, and at once: a program that
  // starts slowly would end late on a busy machine. By absolute path: a workspace may have a program of that name. In a
  // process group of its own: a Ctrl-C during the check would kill it, which reads as an escape.
  const neighbour = spawn("/bin/sh", ["-c", "read -r line"], {
    argv0: planted.process_word,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  let connections = 0;
  const listen = async (place: string | undefined): Promise<Server> => {
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) =>
      place === undefined ? server.listen(0, "127.0.0.1", resolve) : server.listen(place, resolve),
    );
    return server;
  };
  const firstName = join(keys, newCanary());
  const places = [undefined, `\0${planted.abstract_socket}`, planted.named_socket, firstName];
  const servers = await Promise.all(places.map(listen));
  renameSync(firstName, planted.renamed_socket);
  const { port = 0 } = (servers[0]?.address() ?? {}) as Partial<AddressInfo>;
  return {
    planted: { ...planted, pid: neighbour.pid ?? 0, port },
    damage: () => damageTo(planted, { neighbour, connections }),
    clear() {
      for (const server of servers) server.close();
      neighbour.kill("SIGKILL");
      for (const file of [...files, planted.renamed_socket, ...planted.new_files]) rmSync(file, { force: true });
      for (const pid of carriers(planted.left_word)) signalProcess(pid, "SIGKILL");
    },
  };
}

/** Whether a file can be planted in the home that no command may see. */
function isHiddenHome(home: string, roots: readonly string[]): boolean {
  if (roots.some((root) => isInside(root, home))) return false;
  try {
    accessSync(home, constants.W_OK);
    return true;
  } catch {
    return false; // missing, or not writable for us
  }
}

function damageTo(
  { new_files, left_word, state_file, secret }: Pick<Bait, "new_files" | "left_word" | "state_file" | "secret">,
  { neighbour, connections }: { readonly neighbour: ChildProcess; readonly connections: number },
): string | undefined {
  const made = new_files.find((file) => existsSync(file));
  if (made !== undefined) return `"${made}" was written`;
  if (!existsSync(state_file) || readFileSync(state_file, "latin1") !== secret) return "the planted file was changed";
  if (connections > 0) return "a connection was accepted";
  if (neighbour.pid !== undefined && !isAlive(neighbour.pid)) return "a process outside was killed";
  return carriers(left_word).length > 0 ? "a process is left running" : undefined;
}

function carriers(word: string): readonly number[] {
  return allPids().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(word);
    } catch {
      return false; // it ended meanwhile
    }
  });
}

/** The ID of the process that planted it, and a random suffix. */
const CANARY = /^canary(\d+)x[0-9a-f]{16}(?:\.pem)?$/;

/** A unique word that contains the ID of this process. */
export function newCanary(): string {
  return `canary${process.pid}x${randomBytes(8).toString("hex")}`;
}

/** Removes canaries from these folders that killed checks left behind. */
export function sweepCanaries(folders: readonly string[]): void {
  for (const folder of new Set(folders)) {
    for (const name of readdirSync(folder)) {
      const planter = CANARY.exec(name)?.[1];
      if (planter === undefined || isAlive(Number(planter))) continue;
      const path = join(folder, name);
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found !== undefined && (found.isFile() || found.isSocket()) && found.uid === process.getuid?.())
        rmSync(path, { force: true });
    }
  }
}
