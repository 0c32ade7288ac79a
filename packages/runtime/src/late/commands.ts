import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { LazyChanger } from "./lazy-changer.ts";
import type { SandboxReport } from "../runs/inspect.ts";
import { NO_CHANGES } from "../contract/command-changes.ts";
import type { CommandChanges, ChangeDetector } from "../contract/command-changes.ts";
import type {
  BackgroundFacts,
  CallProcesses,
  Command,
  CommandEnd,
  CommandLimits,
  CommandOptions,
  OutputRedactor,
  WatchedEnd,
} from "../contract/processes.ts";
import { DEFAULTS } from "../options/defaults.ts";
import type { RunProgram } from "../contract/skills.ts";
import type { CommandWatch, WatchRequest } from "../machine/watch/command-watch.ts";
import type { ClosedPaths } from "../policy/paths/closed-paths.ts";
import type { NamedCommand, ResolvedTouch, WorkspaceContext } from "../policy/decide.ts";
import type { Processes } from "../machine/command-processes.ts";
import { COMMAND_VIEWS } from "../policy/commands/command-view.ts";
import type { ProfileName, SandboxMode } from "../protocol/configuration.ts";
import { GitPlacesReader } from "../machine/system/read-git-places.ts";
import { stateFolders } from "../machine/system/state-folders.ts";
import { hostPlaces } from "../machine/system/own-program.ts";
import { makePackageCaches } from "../machine/sandbox/writable-caches.ts";
import { noteHidden } from "../machine/git/tracked-files.ts";
import { ToolError } from "../protocol/errors.ts";
import type { Redactor } from "../redact/redact.ts";

interface CommandsOptions {
  readonly workspace: WorkspaceContext;
  readonly state_dir: string;
  readonly cwd: string;
  readonly changer: LazyChanger;
  readonly redactor?: Redactor;
  /** Hosts that commands may reach, if they request network access. */
  readonly network_allow: readonly string[];
  readonly sandbox?: SandboxMode;
  readonly profile?: ProfileName;
  readonly session?: string;
  readonly bash_timeout_ms?: number;
  readonly script_timeout_ms?: number;
  readonly command_limits?: Partial<CommandLimits>;
  readonly own_files?: readonly string[];
}

/** The call that a command belongs to. */
interface CallFacts extends Omit<WatchRequest, "background"> {
  readonly touches: readonly ResolvedTouch[];
  readonly commands: readonly NamedCommand[];
  /** The paths that rules close to the commands of this call. */
  readonly closedPaths: () => Promise<ClosedPaths | undefined>;
}

/** Runs commands. Loaded and probed on first use: most processes run no command. */
export class Commands {
  /** The workspace; its `sandbox` is set once it is known. */
  readonly workspace: WorkspaceContext;
  readonly #options: CommandsOptions;
  #level = "none";
  #processes: Promise<Processes> | undefined;
  #watch: Promise<CommandWatch> | undefined;
  #places: Promise<typeof import("../policy/paths/opened-places.ts")> | undefined;

  constructor(options: CommandsOptions) {
    this.#options = options;
    const level = (): string => this.#level;
    const gitPlaces = new GitPlacesReader(options.workspace, hostPlaces(options.workspace, options.own_files));
    this.workspace = {
      ...options.workspace,
      get sandbox() {
        return level();
      },
      get git_places() {
        return gitPlaces.current();
      },
    };
  }

  /** Determines the sandbox for commands. Throws `SandboxUnavailable` if one is required and none is available. */
  async prepare(): Promise<void> {
    const sandbox = await (await this.#load()).sandbox();
    this.#level = sandbox.level;
    if (sandbox.level !== "none" || this.#options.sandbox !== "required") return;
    throw new ToolError(
      "SandboxUnavailable",
      `Cannot run commands: a sandbox is required, and ${sandbox.problem ?? "there is none"}`,
    );
  }

  /** Records the changes of commands whose process was killed. Otherwise costs two directory lookups. */
  async recover(): Promise<void> {
    const { state_dir } = this.#options;
    if (!hasEntries(join(state_dir, "running")) && !hasEntries(stateFolders(state_dir).looks)) return;
    const { recoverCommands } = await import("../machine/watch/recover-commands.ts");
    const loadChanger = () => this.#options.changer.load();
    await recoverCommands({ state_dir, workspace: this.workspace, loadChanger });
  }

  /** Tries all known ways to escape from the sandbox. */
  async inspect(): Promise<SandboxReport> {
    const processes = await this.#load();
    const sandbox = await processes.sandbox();
    const { checkSandbox } = await import("../machine/sandbox/self-check.ts");
    const { roots, home } = this.workspace;
    const { state_dir } = this.#options;
    const attempts = await checkSandbox(sandbox, { roots, home, state_dir, limits: processes.limits });
    const { level, problem } = sandbox;
    return { level, attempts, ...(problem === undefined ? {} : { problem }) };
  }

  forCall(call: CallFacts): CallProcesses {
    const placed = ({ workdir, ...command }: { workdir: string } & Omit<Command, "cwd">): Command => ({
      ...command,
      cwd: folderOf(workdir, call.touches),
    });
    const background = async () => await (await this.#load()).background();
    return {
      timeout_ms: this.#options.bash_timeout_ms ?? DEFAULTS.bash_timeout_ms,
      script_timeout_ms: this.#options.script_timeout_ms ?? DEFAULTS.script_timeout_ms,
      run: (command, options) => this.#runForCall(placed(command), options, call),
      start: (command) => this.#start(placed(command), call),
      output: async (...given) => await (await background()).output(...given),
      stop: async (background_id) => await (await background()).stop(background_id),
      list: async () => (await background()).list(),
    };
  }

  /** Runs a skill script in folders of the runtime. */
  programsFor(call: CallFacts): RunProgram {
    return async (command, options) =>
      await this.#runWatched(call, async (processes) => {
        const given = { ...options, call_id: call.tool_call_id };
        const closed = closedBy(await call.closedPaths(), false);
        return await processes.run({ ...command, network: "loopback", ...closed }, given);
      });
  }

  async close(): Promise<void> {
    const watch = await this.#watch;
    watch?.hurry();
    await (await this.#processes)?.close();
    watch?.close();
  }

  async #runForCall(command: Command, options: CommandOptions, call: CallFacts): Promise<WatchedEnd> {
    const connections: WatchedEnd["connections"][number][] = [];
    const [opens, closes] = await Promise.all([this.#opensFor(call), call.closedPaths()]);
    const closed = closedBy(closes, isReadOnlyCall(call));
    const tell = noteHidden(command.cwd, { workspace: this.workspace, closes, cwd: this.#options.cwd });
    const end = await this.#runWatched({ ...call, ...(opens && { opens }) }, async (processes) => {
      return await processes.run(
        { ...command, ...(opens && { opens }), ...closed },
        {
          ...options,
          call_id: call.tool_call_id,
          allow: this.#options.network_allow,
          onConnection: ({ host, port, allowed }) => connections.push({ host, port, allowed }),
        },
      );
    });
    return { ...end, connections, changes: tell(end.changes) };
  }

  async #runWatched(
    call: CallFacts & Pick<WatchRequest, "opens">,
    run: (processes: Processes) => Promise<CommandEnd>,
  ): Promise<CommandEnd & { readonly changes: CommandChanges }> {
    const processes = await this.#load();
    const detection = await this.#detectChanges(call);
    let end: CommandEnd;
    try {
      end = await run(processes);
    } catch (error) {
      detection.drop();
      throw error;
    }
    return { ...end, changes: await detection.after() };
  }

  /** Which files that run later the command may change. Background commands may change none. */
  async #opensFor({ commands, confirmed = false }: CallFacts): Promise<Command["opens"]> {
    const { openedPlaces } = await (this.#places ??= import("../policy/paths/opened-places.ts"));
    const { roots, home, git_places = [] } = this.workspace;
    return openedPlaces(commands, { roots, home, git_places, confirmed });
  }

  async #start(command: Command, call: CallFacts): Promise<BackgroundFacts> {
    const background = await (await this.#load()).background();
    const detection = await this.#detectChanges({ ...call, background: true });
    try {
      const closed = closedBy(await call.closedPaths(), isReadOnlyCall(call));
      return await background.start({ ...command, ...closed }, detection);
    } catch (error) {
      detection.drop();
      throw error;
    }
  }

  /** Finds a command's changes by comparing the files before and after, unless it cannot write to the roots at all. */
  async #detectChanges(call: CallFacts & Pick<WatchRequest, "background" | "opens">): Promise<ChangeDetector> {
    const { level } = await (await this.#load()).sandbox();
    if (level !== "none" && isReadOnlyCall(call)) return NO_DETECTION;
    if (level !== "none") makePackageCaches(this.workspace);
    const watch = await (this.#watch ??= this.#openWatch());
    const closes = level === "none" ? undefined : await call.closedPaths();
    if (closes === undefined) return await watch.before(call);
    return withoutHidden(await watch.before({ ...call, closes }), closes);
  }

  async #openWatch(): Promise<CommandWatch> {
    const { createCommandWatch } = await import("../machine/watch/command-watch.ts");
    const { state_dir, cwd, session } = this.#options;
    const changer = await this.#options.changer.load();
    return createCommandWatch({ state_dir, changer, cwd, session, workspace: this.workspace });
  }

  #load(): Promise<Processes> {
    return (this.#processes ??= this.#make());
  }

  async #make(): Promise<Processes> {
    const { Processes: Maker } = await import("../machine/command-processes.ts");
    const { workspace } = this;
    const { sandbox: mode = "auto", state_dir, redactor } = this.#options;
    const { profile = "guarded", command_limits: limits = {} } = this.#options;
    return new Maker({
      mode,
      view: COMMAND_VIEWS[profile],
      workspace,
      state_dir,
      limits,
      ...(redactor === undefined ? {} : { redactor: forOutput(redactor) }),
    });
  }
}

function hasEntries(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

const NO_DETECTION: ChangeDetector = { after: () => Promise.resolve(NO_CHANGES), drop() {} };

/** Derived from the words of the command; nothing relies on it, since the sandbox also mounts the roots read-only. */
function isReadOnlyCall({ commands }: CallFacts): boolean {
  return commands.length > 0 && commands.every(({ read_only }) => read_only);
}

/** The paths closed to a command. A read-only command may write nothing below the roots. */
function closedBy(closes: ClosedPaths | undefined, read_only: boolean): Pick<Command, "closes" | "read_only"> {
  return closes === undefined ? { read_only } : { closes, read_only: read_only || closes.read_only };
}

/** Drops hidden paths: a sandboxed command cannot have changed them, and a caller may not see their names. */
function withoutHidden(detection: ChangeDetector, closes: ClosedPaths): ChangeDetector {
  const isShown = ({ real }: { readonly real: string }): boolean => closes.judge(real, false) !== "hide";
  return {
    async after() {
      const changes = await detection.after();
      return {
        ...changes,
        files: changes.files.filter(isShown),
        taken_back: changes.taken_back.filter(isShown),
      };
    },
    drop: () => detection.drop(),
  };
}

/** A redactor for bytes that arrive in chunks. */
function forOutput(redactor: Redactor): OutputRedactor {
  return {
    text: (text) => redactor.redact(text).text,
    stream() {
      const decoder = new TextDecoder();
      const stream = redactor.stream();
      return {
        push: (piece) => Buffer.from(stream.push(decoder.decode(piece, { stream: true }))),
        end: () => Buffer.from(`${stream.push(decoder.decode())}${stream.end()}`),
      };
    },
  };
}

/** The real path of the declared folder at evaluation time; verified again when a command starts there. */
function folderOf(workdir: string, touches: readonly ResolvedTouch[]): string {
  const touch = touches.find(({ path, access }) => path === workdir && access === "list");
  if (touch !== undefined) return touch.real;
  throw new ToolError("PathTraversalBlocked", `Cannot run a command in "${workdir}": the call did not declare it`, {
    path: workdir,
  });
}
