import type { Command, CommandLimits } from "../../contract/processes.ts";
import type { CommandView } from "../../policy/commands/command-view.ts";
import type { Places } from "../../policy/facts.ts";
import type { SandboxMode } from "../../protocol/configuration.ts";
import { ToolError } from "../../protocol/errors.ts";
import { commandEnvironment } from "../processes/environment.ts";
import { dismissKeeper } from "../processes/keeper.ts";
import { bareLaunch, handoverFolder, Prologues } from "../processes/launch.ts";
import type { Launch } from "../processes/launch.ts";
import { PipePool } from "../processes/output-pipes.ts";
import { findOnPath, findProgram, PROGRAMS } from "../processes/programs.ts";
import { runCommand } from "../processes/run.ts";
import { sandboxHome } from "./bwrap.ts";
import { PlaceFinder } from "./find-places.ts";
import { GitIdentity } from "./git-identity.ts";
import { SandboxLauncher } from "./launch-sandboxed.ts";
import { isArchitecture } from "./seccomp.ts";
import { MachineView } from "./machine-view.ts";

export interface SandboxOptions {
  readonly mode: SandboxMode;
  readonly workspace: Places;
  /** For small files that are passed to children. Must be one of the workspace's `state_dirs`. */
  readonly state_dir: string;
  readonly limits: CommandLimits;
  /** What commands see of the machine outside the roots. Default: `programs`. */
  readonly view?: CommandView;
  /** Names of additional variables that are passed to commands. */
  readonly pass?: readonly string[];
  /** A real folder that is `/tmp` inside. Default: an empty one per command. */
  readonly tmp?: string;
  /** Search path for programs, in the form of the PATH variable. Default: this process's own. */
  readonly path?: string;
}

/** Starts commands, in a sandbox where one is available. */
export interface Sandbox {
  /** The sandbox in use, or "none". */
  readonly level: "bwrap" | "none";
  /** Why no sandbox is available, though one was requested. */
  readonly problem: string | undefined;
  /**
   * Throws `SandboxUnavailable` where a sandbox is required but unavailable, and `NetworkDenied` where the command needs
   * the allowlisted network without a sandbox or a proxy. The proxy listens on `proxy_socket`, a real path.
   */
  launch(command: Command, proxy_socket?: string): Launch;
  close(): void;
}

/**
 * Tests whether this machine can run commands in a sandbox. The result is final for this object: if the sandbox fails
 * later, the command is refused and never runs without one.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { mode, workspace, state_dir, limits } = options;
  const where = { roots: workspace.roots, ...(options.path === undefined ? {} : { path: options.path }) };
  const bash = await findProgram("bash", where);
  const folder = handoverFolder(state_dir);
  const prologues = new Prologues({ limits, folder });
  const pipes = new PipePool(folder);
  const sandboxed = mode === "off" ? undefined : await makeLauncher(options, { bash, prologues, pipes, where });
  const launcher = sandboxed instanceof SandboxLauncher ? sandboxed : undefined;
  const problem = typeof sandboxed === "string" ? sandboxed : undefined;
  const { variables, inside_only } = commandEnvironment(process.env, { pass: options.pass ?? [] });
  const environment = { ...variables, ...inside_only };
  return {
    level: launcher === undefined ? "none" : "bwrap",
    problem,
    launch(command, proxy_socket) {
      if (bash === undefined) throw missing("bash");
      const isOnline = command.network === "allowlist";
      if (isOnline && proxy_socket === undefined) throw noWayOut("no proxy is available");
      if (launcher !== undefined) return launcher.launch(command, isOnline ? proxy_socket : undefined);
      if (mode === "required") throw unavailable(problem ?? "none is available");
      if (isOnline) throw noWayOut(`only a sandbox can enforce the allowlist, and ${problem ?? "none is available"}`);
      return bareLaunch(command, { bash, environment, prologues, pipes });
    },
    close() {
      launcher?.close();
      prologues.close();
      pipes.close();
      dismissKeeper();
    },
  };
}

interface SandboxProgram {
  readonly bash: string | undefined;
  readonly prologues: Prologues;
  readonly pipes: PipePool;
  readonly where: { readonly roots: readonly string[]; readonly path?: string };
}

/** Gives a clause that explains why no sandbox is available. */
async function makeLauncher(options: SandboxOptions, found: SandboxProgram): Promise<SandboxLauncher | string> {
  const { workspace, state_dir, limits, pass = [], tmp, view: shown = "programs" } = options;
  const { bash, prologues, pipes, where } = found;
  const bwrap = await findProgram("bwrap", where);
  if (bash === undefined) return `bash is missing; "${PROGRAMS.bash.install}" installs it`;
  if (bwrap === undefined) return `bwrap is missing; "${PROGRAMS.bwrap.install}" installs it`;
  if (!isArchitecture(process.arch)) return `no system call filter is available for ${process.arch}`;
  const environment = commandEnvironment(process.env, { pass, sandbox_home: sandboxHome(workspace.roots) });
  const view = new MachineView({ view: shown, workspace, path: environment.variables["PATH"] ?? "" });
  const git = findOnPath(["git"], where);
  const folder = handoverFolder(state_dir);
  const parts = {
    bwrap,
    bash,
    architecture: process.arch,
    roots: workspace.roots,
    view,
    finder: new PlaceFinder(workspace, {
      isShown: (path) => workspace.roots.includes("/") || view.shows(path),
      shown: () => view.folders(),
    }),
    identity: new GitIdentity({ workspace, folder, ...(git === undefined ? {} : { git }) }),
    environment,
    prologues,
    pipes,
    folder,
    memory_bytes: limits.memory_bytes,
    ...(tmp === undefined ? {} : { tmp }),
  };
  const probeOptions = { cwd: workspace.roots[0] ?? "/", limits };
  const launcher = new SandboxLauncher({ ...parts, has_sizes: true });
  const problem = await probe(launcher, probeOptions);
  if (problem === undefined) return launcher;
  launcher.close();
  if (!problem.includes("--size")) return problem;
  const older = new SandboxLauncher({ ...parts, has_sizes: false });
  const olderProblem = await probe(older, probeOptions);
  if (olderProblem === undefined) return older;
  older.close();
  return olderProblem;
}

const PROBE_MS = 10_000;

async function probe(
  launcher: SandboxLauncher,
  { cwd, limits }: { readonly cwd: string; readonly limits: CommandLimits },
): Promise<string | undefined> {
  try {
    const launch = (): Launch => launcher.launch({ run: ":", cwd });
    const signal = new AbortController().signal;
    const run = (): ReturnType<typeof runCommand> =>
      runCommand(launch, { timeout_ms: PROBE_MS, signal, call_id: "probe", limits });
    let { exit_code, ended_by } = await run();
    // Retry once: a machine that was asleep also times out, which says nothing about its sandbox.
    if (ended_by === "timeout") ({ exit_code, ended_by } = await run());
    if (ended_by === "timeout") return `a test command in it timed out after ${PROBE_MS / 1000} s`;
    return exit_code === 0 && ended_by === "itself" ? undefined : `a test command in it exited with code ${exit_code}`;
  } catch (error) {
    if (error instanceof ToolError) return error.message;
    throw error;
  }
}

function missing(name: "bash"): ToolError {
  const { install } = PROGRAMS[name];
  return new ToolError("IOError", `Cannot run the command: ${name} is missing`, {
    program: name,
    hint: `"${install}" installs it`,
  });
}

function noWayOut(why: string): ToolError {
  return new ToolError("NetworkDenied", `Cannot give the command the network: ${why}`, {
    hint: "Use network_request to reach hosts on the allowlist.",
  });
}

function unavailable(problem: string): ToolError {
  return new ToolError("SandboxUnavailable", `Cannot run the command: a sandbox is required, and ${problem}`, {
    problem,
  });
}
