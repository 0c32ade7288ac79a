import type {
  Background,
  Command,
  CommandEnd,
  CommandLimits,
  CommandOptions,
  OutputRedactor,
} from "../contract/processes.ts";
import type { ProxiedConnection } from "./network/proxy.ts";
import { openSandbox } from "./sandbox/sandbox.ts";
import type { Sandbox, SandboxOptions } from "./sandbox/sandbox.ts";
import { BackgroundCommands } from "./processes/background-commands.ts";
import { handoverFolder } from "./processes/launch.ts";
import { limitsFor } from "./processes/machine-limits.ts";
import { sweepLost } from "./processes/marks.ts";
import { runCommand } from "./processes/run.ts";

export interface ProcessesOptions extends Omit<SandboxOptions, "limits"> {
  /** Redacts the stored output of background commands. */
  readonly redactor?: OutputRedactor;
  readonly limits?: Partial<CommandLimits>;
}

export interface ProcessOptions extends CommandOptions {
  readonly call_id: string;
  /** The hosts that a command with network `allowlist` may reach. Default: none, which refuses it. */
  readonly allow?: readonly string[];
  /** Called for each connection when it ended or was refused. Must not throw. */
  readonly onConnection?: (connection: ProxiedConnection) => void;
}

/** Runs commands for one workspace. Nothing is probed or started before the first use. */
export class Processes {
  readonly #options: ProcessesOptions;
  readonly #limits: CommandLimits;
  #sandbox: Promise<Sandbox> | undefined;
  #background: BackgroundCommands | undefined;

  constructor(options: ProcessesOptions) {
    this.#options = options;
    this.#limits = limitsFor(options.limits ?? {});
  }

  /** The resource limits of a command. */
  get limits(): CommandLimits {
    return this.#limits;
  }

  /** The sandbox. Probes it the first time, and kills leftover commands of earlier workers. */
  async sandbox(): Promise<Sandbox> {
    try {
      return await (this.#sandbox ??= this.#open());
    } catch (error) {
      this.#sandbox = undefined; // for instance a full disk: retried with the next command
      throw error;
    }
  }

  /** Throws `NetworkDenied` if the command needs the allowlisted network, and the sandbox or the list is missing. */
  async run(command: Command, { allow = [], onConnection, ...options }: ProcessOptions): Promise<CommandEnd> {
    const sandbox = await this.sandbox();
    options.signal.throwIfAborted();
    const run = async (proxy_socket?: string): Promise<CommandEnd> =>
      await runCommand(() => sandbox.launch(command, proxy_socket), { ...options, limits: this.#limits });
    if (command.network !== "allowlist") return await run();
    const { withProxy } = await import("./processes/with-proxy.ts"); // most commands use no network
    const folder = handoverFolder(this.#options.state_dir);
    return await withProxy({ folder, allow, signal: options.signal, onConnection: onConnection ?? (() => {}) }, run);
  }

  async background(): Promise<Background> {
    const sandbox = await this.sandbox();
    const { state_dir } = this.#options;
    const launch = (command: Command): ReturnType<Sandbox["launch"]> => sandbox.launch(command);
    const { redactor } = this.#options;
    const redacting = redactor === undefined ? {} : { redactor };
    return (this.#background ??= new BackgroundCommands({ state_dir, limits: this.#limits, launch, ...redacting }));
  }

  /** Stops background commands. */
  async close(): Promise<void> {
    await this.#background?.close();
    const sandbox = await this.#sandbox;
    sandbox?.close();
    this.#sandbox = undefined;
  }

  async #open(): Promise<Sandbox> {
    sweepLost();
    return await openSandbox({ ...this.#options, limits: this.#limits });
  }
}
