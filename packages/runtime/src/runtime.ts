import { checkOptions } from "./options/check-options.ts";
import { Commands } from "./late/commands.ts";
import type { OpenJournal } from "./contract/journal.ts";
import type { Tool } from "./contract/tool.ts";
import type { UndoKeeper } from "./contract/undo-keeper.ts";
import { callInBatches } from "./runs/batches.ts";
import type { CallOptions, DecidingParts } from "./gate/parts.ts";
import { ActiveSkills } from "./gate/steps/active-skills.ts";
import { explainCall } from "./gate/gate.ts";
import { openCall } from "./gate/steps/open-call.ts";
import type { IncomingCall } from "./gate/steps/open-call.ts";
import { Registry } from "./gate/registry.ts";
import { readConfiguration, sharedParts } from "./start/gate-parts.ts";
import type { RuntimeParts } from "./start/gate-parts.ts";
import { openJsonl } from "./journal/jsonl-journal.ts";
import { limitsFor } from "./machine/processes/machine-limits.ts";
import { isRecorded, isRunId } from "./journal/run-folder.ts";
import { openApprovals } from "./late/lazy-approvals.ts";
import { createLazyChanger, recoverLeft } from "./late/lazy-changer.ts";
import { lazy, lazyMethods } from "./late/lazy.ts";
import { LazySkills } from "./late/lazy-skills.ts";
import { makeCaller, workspaceOf } from "./runs/caller.ts";
import { toolsInForce } from "./runs/tool-info.ts";
import type { ToolCallResult } from "./protocol/result.ts";
import { ToolError } from "./protocol/errors.ts";
import { makeId } from "./protocol/ids.ts";
import { createRedactor } from "./redact/redact.ts";
import { endInterrupted, endOpenCalls, OpenRuns } from "./runs/open-runs.ts";
import type { FindChange } from "./runs/open-runs.ts";
import { lazyJournal, leftTexts, telling, tellLeft } from "./runs/run-journals.ts";
import { Runs } from "./runs/runs.ts";
import type { Run } from "./runs/runs.ts";
import { useSkill } from "./runs/use-skill.ts";
import type { Explanation, Runtime, RuntimeOptions, UndoOptions } from "./options/runtime-options.ts";
import { secretsOf } from "./redact/assignments/secret-variables.ts";
import { prepareStart } from "./start/start.ts";
import { BUILT_IN } from "./tools/all.ts";
import { updateMemory } from "./tools/update-memory.ts";

/**
 * Creates a governed runtime for a workspace. Uses no global state; `close()` ends it. Throws `ToolError` for invalid
 * options.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { clock = Date.now } = checkOptions(options);
  const started = prepareStart({ ...options, checkpoint_handler: options.onCheckpoint !== undefined });
  const { state_dir } = started;
  const left = mayWrite(options) ? await recoverLeft(started) : [];
  const changer = createLazyChanger({ state_dir, clock, workspace: started.workspace });
  const registry = registryOf(options);
  const configuration = readConfiguration(options, registry.all());
  const redactor = createRedactor({ known: [...secretsOf(process.env), ...(options.known_secrets ?? [])] });
  const skills = new LazySkills({ ...started, isTrustedSkill: options.isTrustedSkill });
  const first = { started, clock, changer, configuration, redactor, skills };
  const commands = await openCommands(options, first);
  const run_id = options.run_id ?? makeId("run", clock());
  const active = new ActiveSkills(commands.workspace);
  const activeIn = (id: string): ActiveSkills => (id === run_id ? active : new ActiveSkills(commands.workspace));
  const { runs, unended, resumption } = await openRuns(options, { ...first, registry, activeIn });
  const approvals = options.approvals ?? openApprovals({ state_dir, clock });
  const shared = sharedParts(options, { ...first, registry, commands, approvals });
  // Loads the recorded skills; if the record cannot be opened, each call reports it.
  if (options.looking !== true && mayHaveEvents(options, state_dir)) await runs.get(run_id).catch(() => undefined);
  const journal = lazyJournal(run_id, async () => (await runs.get(run_id)).journal);
  await tellLeft([...leftTexts(left), ...unended], { journal, now: clock(), redactor });

  const open = (request: unknown): IncomingCall => openIn(request, { run_id, now: clock() });
  const call = makeCaller({ open, runs, shared, looking: options.looking === true });

  return {
    run_id,
    state_dir,
    actor: shared.actor,
    journal,
    approvals,
    charge: async (counts, holder = {}) => await shared.quotas.use({ run_id, ...holder }, counts),
    redact: (text) => shared.redactor.redact(text),
    redactValue: (value) => shared.redactor.redactValue(value),
    call: (request, callOptions) => call(request, callOptions),
    callAll: (requests, callOptions) =>
      callInBatches(requests, {
        mayRunBeside: ({ name }) => registry.get(name)?.concurrency_safe === true,
        call: (request) => call(request, callOptions),
        open: (request) => open(request).request,
      }),
    explain: async (request, callOptions = {}) => explain(open(request), callOptions, { ...shared, active }),
    decideAgain: decidingAgain(shared),
    undo: (id, options = {}) => undo(call, id, options),
    useSkill: async (name, { task_id = null } = {}) => {
      await useSkill(name, { ...first, registry, runs, run_id, task_id, active, looking: options.looking === true });
    },
    changes: changesIn({ undo: changer, redactor }, run_id),
    interruptedChange: (tool_call_id) => changer.interruptedChange(run_id, tool_call_id),
    tools: toolsInForce(shared, active),
    register: (tool) => registry.register(tool),
    async *events({ run_id: wanted = run_id, after = 0 } = {}) {
      const isMissing = options.openJournal === undefined && !isRecorded(state_dir, wanted);
      if (!isMissing) yield* (await runs.get(wanted)).journal.read(after); // reading does not create a run
    },
    close: () => closeInOrder([commands, changer, resumption(run_id), runs]),
  };
}

/** A read-only start leaves interrupted changes for the next start that may write. */
function mayWrite({ looking = false, profile }: RuntimeOptions): boolean {
  return !looking && profile !== "readonly";
}

type RunParts = Pick<RuntimeParts, "started" | "clock" | "registry" | "changer"> & {
  readonly activeIn: (run_id: string) => ActiveSkills;
};

/** Opens the runs of this runtime after closing those of killed processes. */
async function openRuns(
  { openJournal, onEvent, looking = false, resumes = false, run_id: own }: RuntimeOptions,
  { started, clock, registry, changer, activeIn }: RunParts,
): Promise<OpenedRuns> {
  const { state_dir, heads } = started;
  const openFile: OpenJournal = (run_id) => openJsonl({ state_dir, run_id, heads }, clock);
  const marks = openJournal === undefined ? new OpenRuns(state_dir) : undefined;
  const runs = new Runs(state_dir, { openJournal: telling(openJournal ?? openFile, onEvent), activeIn }, marks);
  const findTool = (name: string): Tool | undefined => registry.get(name);
  const findChange: FindChange = (...call) => changer.interruptedChange(...call);
  const resumed = resumes && marks !== undefined ? own : undefined;
  const unended = looking ? [] : await endInterrupted({ state_dir, heads, clock, findTool, findChange, resumed });
  const resumption = (run_id: string) => ({
    async close(): Promise<void> {
      if (run_id !== resumed || !isRecorded(state_dir, run_id)) return;
      await runs.use(run_id, ({ journal, calls }) =>
        endOpenCalls(journal, { state_dir, findTool, findChange, clock, running: calls }),
      );
    },
  });
  return { runs, unended, resumption };
}

interface OpenedRuns {
  readonly runs: Runs;
  /** Messages about calls that could not be ended. */
  readonly unended: readonly string[];
  /** Closed when the run is no longer resumed: ends the open calls that were not repeated. */
  readonly resumption: (run_id: string) => { close(): Promise<void> };
}

/** Without memory, memory tools are not registered. */
function registryOf({ memory, more_tools = [] }: RuntimeOptions): Registry {
  const registry = new Registry();
  for (const tool of BUILT_IN) if (tool !== updateMemory || memory !== undefined) registry.register(tool);
  for (const tool of more_tools) registry.register(tool);
  return registry;
}

/** Closes all, even if one fails. */
async function closeInOrder(opened: readonly { close(): Promise<void> }[]): Promise<void> {
  const [first, ...others] = opened;
  try {
    await first?.close();
  } finally {
    if (others.length > 0) await closeInOrder(others);
  }
}

/** Lazy: most processes never show their changes. */
function changesIn(
  sources: Pick<RuntimeParts, "redactor"> & { readonly undo: UndoKeeper },
  own: string,
): Runtime["changes"] {
  const load = lazy(async () => await import("./runs/changes-of-run.ts"));
  return async ({ run_id = own, ...filter } = {}) => await (await load()).changesOfRun(sources, { run_id, ...filter });
}

/** Lazy: most processes never replay a decision. */
function decidingAgain(shared: DecidingParts): Runtime["decideAgain"] {
  const load = lazy(async () => new (await import("./gate/decide-again.ts")).Replay(shared));
  return lazyMethods(load, ["decideAgain"]).decideAgain;
}

async function openCommands(
  options: RuntimeOptions,
  { started, changer, configuration, redactor, skills }: Omit<RuntimeParts, "registry" | "commands" | "approvals">,
): Promise<Commands> {
  if (options.command_limits !== undefined) limitsFor(options.command_limits); // refused now, not at the first command
  const names = BUILT_IN.map((tool) => tool.name);
  const narrowed = options.skill === undefined ? {} : await skills.activate(options.skill, names);
  const workspace = { ...started.workspace, ...narrowed };
  const commands = new Commands({
    ...options,
    ...started,
    workspace,
    changer,
    redactor,
    network_allow: configuration.network?.allow ?? [],
  });
  if (mayWrite(options)) await commands.recover();
  return commands;
}

function undo(call: ReturnType<typeof makeCaller>, id: string, options: UndoOptions): Promise<ToolCallResult> {
  const { force = false, tool_call_id, task_id, trace_id, ...callOptions } = options;
  const target = id.startsWith("undo_") ? { undo_id: id } : { run_id: id };
  const ids = { tool_call_id, task_id, trace_id };
  const given = Object.fromEntries(Object.entries(ids).filter(([, value]) => value !== undefined));
  return call({ name: "undo", args: { ...target, force }, ...given }, callOptions, { byPerson: true });
}

/** Whether the runtime's own run may already have a record. */
function mayHaveEvents({ run_id, openJournal }: RuntimeOptions, state_dir: string): boolean {
  return run_id !== undefined && (openJournal !== undefined || isRecorded(state_dir, run_id));
}

/** A run id that is not a valid folder name is refused, and recorded in the runtime's own run. */
function openIn(input: unknown, own: { readonly run_id: string; readonly now: number }): IncomingCall {
  const opened = openCall(input, own);
  if (isRunId(opened.request.run_id)) return opened;
  const refusal = new ToolError(
    "InvalidArguments",
    'Invalid request: "run_id" must be at most 80 letters, digits, "_" and "-"',
    { field: "run_id" },
  );
  return { request: { ...opened.request, run_id: own.run_id }, refusal };
}

/** Reasons and suggestions quote the call, so they are redacted like all output. */
async function explain(
  opened: IncomingCall,
  options: CallOptions,
  { active, ...shared }: DecidingParts & Pick<Run, "active">,
): Promise<Explanation> {
  const explanation = await explainPlainly(opened, options, { ...shared, ...workspaceOf(opened, { active }) });
  return shared.redactor.redactValue(explanation).value as Explanation;
}

async function explainPlainly(opened: IncomingCall, options: CallOptions, shared: DecidingParts): Promise<Explanation> {
  try {
    const { decision, call } = await explainCall(opened, options, shared);
    const { suggest } = await import("./policy/suggest.ts"); // lazy: rarely used
    const { workspace, settings } = shared;
    return { ...decision, suggestions: suggest(decision, { call, workspace, settings }) };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const refused = { effect: "DENY", code: error.code, reason: error.message, rule: "validation" } as const;
    return { ...refused, checks: [], suggestions: [] };
  }
}
