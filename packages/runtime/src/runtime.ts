import { hash } from "node:crypto";
import { Commands } from "./commands.ts";
import type { OutputLimits } from "./contract/context.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "./contract/host.ts";
import type { Journal, OpenJournal } from "./contract/journal.ts";
import type { Tool } from "./contract/tool.ts";
import { DEFAULTS } from "./defaults.ts";
import { batchesOf } from "./gate/batches.ts";
import type { CallOptions, DecidingParts } from "./gate/call.ts";
import { explainCall, runGate } from "./gate/gate.ts";
import { openCall } from "./gate/open-call.ts";
import type { Opened } from "./gate/open-call.ts";
import { unopenedResult } from "./gate/record-end.ts";
import { Registry } from "./gate/registry.ts";
import { openJsonl } from "./journal/jsonl-journal.ts";
import { isRecorded, isRunId, runPath } from "./journal/run-folder.ts";
import { createToolFiles } from "./machine/files/files.ts";
import { openOwnFile } from "./machine/files/open-file.ts";
import { resolvePath } from "./machine/files/resolve.ts";
import { LazyChanger, recoverLeft } from "./lazy-changer.ts";
import { createLazyNetwork } from "./lazy-network.ts";
import { LazySkills } from "./lazy-skills.ts";
import { createLazySearch } from "./lazy-search.ts";
import { createCursors } from "./output/cursor.ts";
import type { Decision } from "./policy/decide.ts";
import { isInForce } from "./policy/tools-in-force.ts";
import { canonicalJson } from "./protocol/canonical.ts";
import type { ToolCallInput } from "./protocol/call.ts";
import type { ToolCallResult } from "./protocol/result.ts";
import { checkConfiguration } from "./policy/check-configuration.ts";
import type { PolicyConfiguration, ProfileName, SandboxMode } from "./protocol/configuration.ts";
import { ToolError } from "./protocol/errors.ts";
import type { RuntimeEvent } from "./protocol/event-record.ts";
import { makeId } from "./protocol/ids.ts";
import { createRedactor } from "./redact/redact.ts";
import type { Redactor } from "./redact/redact.ts";
import { lazyJournal, telling, tellLeft } from "./run-journals.ts";
import { Runs } from "./runs.ts";
import { secretsOf } from "./secrets.ts";
import { prepareStart, readKey } from "./start.ts";
import type { Started } from "./start.ts";
import { describeTool } from "./tool-info.ts";
import type { ToolInfo } from "./tool-info.ts";
import { BUILT_IN } from "./tools/all.ts";

export interface RuntimeOptions {
  /** Absolute paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** What relative paths are relative to; inside a root. Default: the first root. */
  readonly cwd?: string;
  /** Where the record is kept, out of every tool's reach. Default: `.agent` in the working folder. */
  readonly state_dir?: string;
  readonly profile?: ProfileName;
  readonly config?: Partial<PolicyConfiguration>;
  /** Narrows this runtime to some of the tools that the configuration and the profile leave in force. */
  readonly tools?: readonly string[];
  readonly onApproval?: OnApproval;
  readonly onCheckpoint?: OnCheckpoint;
  readonly onReverseThinking?: OnReverseThinking;
  /** Values that never leave, beside those of the environment's secret-named variables. */
  readonly known_secrets?: readonly string[];
  /** The run that calls belong to when they name none. Default: a new one. */
  readonly run_id?: string;
  readonly limits?: Partial<OutputLimits>;
  readonly timeout_ms?: number;
  /** Names that may be asked over the network: `example.com`, `*.example.com`, `example.com:8443`. Default: none. */
  readonly network?: { readonly allow: readonly string[] };
  /** The skill that is at work: its `allowed-tools` narrow this runtime. */
  readonly skill?: string;
  /** What commands run in. Default: `auto`. */
  readonly sandbox?: SandboxMode;
  /** How long a command may take where a call does not say. */
  readonly bash_timeout_ms?: number;
  /** Patterns of words that no command may match, between commas or line breaks. */
  readonly bash_denylist?: string;
  readonly approval_timeout_ms?: number;
  /** Where the record goes instead of a file. */
  readonly openJournal?: OpenJournal;
  readonly clock?: Clock;
  /** Told of each event right after it was recorded, for live views. */
  readonly onEvent?: (event: RuntimeEvent) => void;
}

export interface EventFilter {
  readonly run_id?: string;
  /** Only events with a higher `seq`. */
  readonly after?: number;
}

export interface Runtime {
  readonly run_id: string;
  readonly state_dir: string;
  /** Makes one governed call. Never throws: every outcome is a result. */
  call(request: ToolCallInput, options?: CallOptions): Promise<ToolCallResult>;
  /** Makes several: neighbours that may run beside others do so, the rest in order; results in the order asked. */
  callAll(requests: readonly ToolCallInput[], options?: CallOptions): Promise<readonly ToolCallResult[]>;
  /** What the policy would say. Runs nothing and records nothing. */
  explain(request: ToolCallInput, options?: CallOptions): Promise<Decision>;
  /** Takes back the change of that `undo_id`, or all changes of that run: a governed call of `undo`. Never throws. */
  undo(id: string, options?: CallOptions & { readonly force?: boolean }): Promise<ToolCallResult>;
  /** The tools in force. */
  tools(): readonly ToolInfo[];
  register(tool: Tool): void;
  /** What is on record of a run so far. */
  events(filter?: EventFilter): AsyncIterable<RuntimeEvent>;
  /** The record of this runtime's own run, for a host that has events of its own to write. Made at the first event. */
  readonly journal: Journal;
  /** The redactor that everything of this runtime passes; it knows the runtime's secrets. */
  redact(text: string): { readonly text: string; readonly redacted: boolean };
  redactValue(value: unknown): { readonly value: unknown; readonly redacted: boolean };
  close(): Promise<void>;
}

/** A governed runtime on a workspace. Nothing global; `close()` ends it. Throws `ToolError` when the options cannot work. */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const clock = options.clock ?? Date.now;
  const started = prepareStart({ ...options, checkpoint_handler: options.onCheckpoint !== undefined });
  const { state_dir, heads } = started;
  const left = await recoverLeft(state_dir);
  const changer = new LazyChanger(state_dir, clock);
  const configuration = readConfiguration(options);
  const redactor = createRedactor({ known: [...secretsOf(process.env), ...(options.known_secrets ?? [])] });
  const first = { started, clock, changer, configuration, redactor, skills: new LazySkills(started) };
  const commands = await openCommands(options, first);
  const openFile: OpenJournal = (run_id) => openJsonl({ state_dir, run_id, heads }, clock);
  const runs = new Runs(state_dir, telling(options.openJournal ?? openFile, options.onEvent));
  const registry = new Registry();
  for (const tool of BUILT_IN) registry.register(tool);
  const shared = sharedParts(options, { ...first, registry, commands });
  const run_id = options.run_id ?? makeId("run", clock());
  const journal = lazyJournal(run_id, async () => (await runs.get(run_id)).journal);
  if (left.length > 0)
    await tellLeft(left, { journal, now: clock(), redact: (text) => shared.redactor.redact(text).text });

  async function call(request: ToolCallInput, callOptions: CallOptions = {}): Promise<ToolCallResult> {
    const opened = openIn(request, { run_id, now: clock() });
    try {
      return await runs.use(opened.request.run_id, (run) => runGate(opened, callOptions, { ...shared, ...run }));
    } catch (error) {
      return unopenedResult(opened, error, shared.redactor); // the gate itself never throws
    }
  }

  return {
    run_id,
    state_dir,
    journal,
    redact: (text) => shared.redactor.redact(text),
    redactValue: (value) => shared.redactor.redactValue(value),
    call,
    async callAll(requests, callOptions) {
      const results: ToolCallResult[] = [];
      for (const batch of batchesOf(requests, ({ name }) => registry.get(name)?.concurrency_safe === true)) {
        results.push(...(await Promise.all(batch.map((request) => call(request, callOptions)))));
      }
      return results;
    },
    explain: async (request, callOptions = {}) =>
      explain(openIn(request, { run_id, now: clock() }), callOptions, shared),
    undo: (id, { force = false, ...callOptions } = {}) => call(undoCall(id, force), callOptions),
    tools: () => toolsInForce(shared),
    register: (tool) => registry.register(tool),
    async *events({ run_id: wanted = run_id, after = 0 } = {}) {
      if (options.openJournal === undefined && !isRecorded(state_dir, wanted)) return; // asking makes no run
      const { journal } = await runs.get(wanted);
      yield* journal.read(after);
    },
    async close() {
      await commands.close();
      await changer.close();
      await runs.close();
    },
  };
}

async function openCommands(
  options: RuntimeOptions,
  { started, changer, configuration, redactor, skills }: Omit<Made, "registry" | "commands">,
): Promise<Commands> {
  const names = BUILT_IN.map((tool) => tool.name);
  const narrowed = options.skill === undefined ? {} : await skills.activate(options.skill, names);
  const workspace = { ...started.workspace, ...narrowed };
  return new Commands({
    ...options,
    ...started,
    workspace,
    changer,
    redactor,
    network_allow: configuration.network?.allow ?? [],
  });
}

function undoCall(id: string, force: boolean): ToolCallInput {
  const target = id.startsWith("undo_") ? { undo_id: id } : { run_id: id };
  return { name: "undo", args: { ...target, force } };
}

function toolsInForce({ registry, workspace, settings }: DecidingParts): readonly ToolInfo[] {
  const inForce = registry.all().filter((tool) => isInForce(tool, workspace, settings).inForce);
  return inForce.map((tool) => describeTool(tool, workspace.roots));
}

interface Made {
  readonly registry: Registry;
  readonly started: Started;
  readonly clock: Clock;
  readonly changer: LazyChanger;
  readonly commands: Commands;
  readonly configuration: PolicyConfiguration;
  readonly redactor: Redactor;
  readonly skills: LazySkills;
}

function sharedParts(options: RuntimeOptions, made: Made): DecidingParts {
  const { registry, started, clock, changer, commands, configuration, redactor, skills } = made;
  const { cwd, state_dir } = started;
  const { workspace } = commands;
  const settings = { profile: options.profile ?? "guarded", configuration } as const;
  const network_allow = configuration.network?.allow ?? [];
  return {
    registry,
    workspace,
    settings,
    cwd,
    clock,
    redactor,
    cursors: createCursors(() => readKey(state_dir)),
    limits: { lines: options.limits?.lines ?? DEFAULTS.lines, bytes: options.limits?.bytes ?? DEFAULTS.bytes },
    timeout_ms: options.timeout_ms ?? DEFAULTS.timeout_ms,
    approval_timeout_ms: options.approval_timeout_ms ?? DEFAULTS.approval_timeout_ms,
    policyVersion: () => hash("sha256", canonicalJson(settings), "hex"),
    onApproval: options.onApproval,
    onCheckpoint: options.onCheckpoint,
    onReverseThinking: options.onReverseThinking,
    resolve: (path) => resolvePath(path, cwd),
    openHandles: (handles) => ({
      files: createToolFiles({ ...handles, workspace, changer }),
      search: createLazySearch({ ...handles, workspace }),
      processes: commands.forCall(handles),
      network: createLazyNetwork({ signal: handles.signal, allow: network_allow }),
      skills: skills.forCall({
        run_folder: runPath(state_dir, handles.run_id),
        signal: handles.signal,
        run: commands.programsFor(handles),
      }),
    }),
    prepareCommands: () => commands.prepare(),
    denylist: options.bash_denylist ?? "",
    network_allow,
    openOwn: (path) => Promise.resolve(openOwnFile(path)),
    undo: changer,
  };
}

function readConfiguration({ config = {}, network }: RuntimeOptions): PolicyConfiguration {
  const { configuration, problems } = checkConfiguration(network === undefined ? config : { ...config, network });
  if (problems.length === 0) return configuration;
  throw new ToolError(
    "InvalidArguments",
    `Cannot start the runtime: ${problems.map((each) => `config.${each}`).join("; ")}`,
    { problems },
  );
}

/** A run that cannot be a folder's name is refused in the record of the runtime's own run. */
function openIn(input: unknown, own: { readonly run_id: string; readonly now: number }): Opened {
  const opened = openCall(input, own);
  if (isRunId(opened.request.run_id)) return opened;
  const refusal = new ToolError(
    "InvalidArguments",
    'Cannot take the request: "run_id" has to be up to 80 letters, digits, "_" and "-"',
    { field: "run_id" },
  );
  return { request: { ...opened.request, run_id: own.run_id }, refusal };
}

async function explain(opened: Opened, options: CallOptions, shared: DecidingParts): Promise<Decision> {
  try {
    return await explainCall(opened, options, shared);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { effect: "DENY", code: error.code, reason: error.message, rule: "validation", checks: [] };
  }
}
