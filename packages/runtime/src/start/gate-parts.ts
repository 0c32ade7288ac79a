import { hash } from "node:crypto";
import { hostname, userInfo } from "node:os";
import type { Commands } from "../late/commands.ts";
import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Clock } from "../contract/host.ts";
import type { ToolNetwork } from "../contract/network.ts";
import type { ToolSearch } from "../contract/search.ts";
import type { Tool } from "../contract/tool.ts";
import { DEFAULTS } from "../options/defaults.ts";
import type { DecidingParts } from "../gate/parts.ts";
import { createMemoryQuotas } from "../gate/quota/memory-quotas.ts";
import { Quotas } from "../gate/quota/quota.ts";
import type { Registry } from "../gate/registry.ts";
import { runPath } from "../journal/run-folder.ts";
import type { LazyChanger } from "../late/lazy-changer.ts";
import { lazy, lazyMethods } from "../late/lazy.ts";
import type { LazySkills } from "../late/lazy-skills.ts";
import type { createToolNetwork } from "../machine/network/fetch.ts";
import type { SearchOptions } from "../machine/search/create-search.ts";
import { createToolFiles } from "../machine/files/file-handle.ts";
import { openOwnFile } from "../machine/system/open-file.ts";
import { resolvePath } from "../machine/system/resolve.ts";
import { trackedFiles } from "../machine/git/tracked-files.ts";
import { createCursors } from "../output/cursor.ts";
import { pathFor } from "../paths/inside.ts";
import { checkConfiguration } from "../policy/check-configuration.ts";
import type { DecisionSettings } from "../policy/decide.ts";
import { findIdleRules } from "../policy/rules/idle-rules.ts";
import { boundActor } from "../protocol/audit.ts";
import type { Actor } from "../protocol/audit.ts";
import { canonicalJson } from "../protocol/canonical.ts";
import type { PolicyConfiguration } from "../protocol/configuration.ts";
import { ToolError } from "../protocol/errors.ts";
import type { Redactor } from "../redact/redact.ts";
import type { RuntimeOptions } from "../options/runtime-options.ts";
import { readKey } from "./start.ts";
import type { PreparedStart } from "./start.ts";

/** The parts of a runtime, in addition to its options. */
export interface RuntimeParts {
  readonly registry: Registry;
  readonly started: PreparedStart;
  readonly clock: Clock;
  readonly changer: LazyChanger;
  readonly commands: Commands;
  readonly configuration: PolicyConfiguration;
  readonly redactor: Redactor;
  readonly approvals: ApprovalKeeper;
  readonly skills: LazySkills;
}

/** The dependencies of the gate that all runs share. */
export function sharedParts(options: RuntimeOptions, made: RuntimeParts): DecidingParts {
  const { registry, started, clock, commands, configuration, redactor, approvals } = made;
  const { cwd, state_dir } = started;
  const { workspace } = commands;
  const settings = decisionSettings(options, configuration);
  const keeper = options.quotas ?? createMemoryQuotas();
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
    policyVersion: () => versionOf(settings),
    approvals,
    session: options.session,
    actor: redactor.redactValue(ownActor(options.actor)).value as Actor,
    keeps_results: options.keeps_results === true,
    memory: options.memory,
    quotas: new Quotas({ quotas: configuration.quotas, keeper, clock }),
    host_keeps: { approvals: options.approvals !== undefined, quotas: options.quotas !== undefined },
    replay_options: options.replay_options ?? [],
    onApproval: options.onApproval,
    onCheckpoint: options.onCheckpoint,
    onReverseThinking: options.onReverseThinking,
    pathFor: (real) => pathFor(real, cwd),
    resolve: (path) => resolvePath(path, cwd),
    trackedIn: trackedFiles,
    ...handleParts(made),
    prepareCommands: async () => {
      if (options.looking === true) started.makeState(); // the sandbox is probed from there
      await commands.prepare();
    },
    denylist: options.bash_denylist ?? "",
    network_allow: configuration.network?.allow ?? [],
    openOwn: (path) => Promise.resolve(openOwnFile(path)),
    undo: made.changer,
  };
}

/** The handles of calls, and the gate's access to files and skills. */
function handleParts({
  started,
  changer,
  commands,
  configuration,
  skills,
  registry,
}: RuntimeParts): Pick<
  DecidingParts,
  "openHandles" | "baseOf" | "findScript" | "ownSkillAround" | "findSkillAt" | "limitsOf"
> {
  const { state_dir } = started;
  const { workspace } = commands;
  const allow = configuration.network?.allow ?? [];
  return {
    openHandles: ({ onPlanned, ...handles }) => ({
      files: createToolFiles({
        ...handles,
        workspace,
        loadChanger: async () => (onPlanned === undefined ? await changer.load() : changer.previewing(onPlanned)),
      }),
      search: lazySearch({ ...handles, workspace }),
      processes: commands.forCall(handles),
      network: lazyNetwork({ signal: handles.signal, allow, environment: process.env }),
      skills: skills.forCall({
        run_folder: runPath(state_dir, handles.run_id),
        signal: handles.signal,
        run: commands.programsFor(handles),
      }),
    }),
    ...lazyMethods(() => import("../machine/system/base-of.ts"), ["baseOf"]), // few calls need approval
    findScript: async (touch, signal) => await skills.findScript(touch, signal),
    ownSkillAround: async (real) => await skills.ownAround(real),
    findSkillAt: async (real) => await skills.at(real),
    limitsOf: async (skill) => await skills.limitsOf(skill, registry.all()),
  };
}

/** Most processes need neither network nor search, and start faster without them. */
function lazyNetwork(options: Parameters<typeof createToolNetwork>[0]): ToolNetwork {
  const load = async (): Promise<ToolNetwork> =>
    (await import("../machine/network/fetch.ts")).createToolNetwork(options);
  return lazyMethods(load, ["request"]);
}

function lazySearch(options: SearchOptions): ToolSearch {
  const load = lazy(async () => (await import("../machine/search/create-search.ts")).createToolSearch(options));
  return {
    async *text(path, query) {
      yield* (await load()).text(path, query);
    },
    ...lazyMethods(load, ["names"]),
  };
}

function decisionSettings(
  { profile = "guarded", origins, projects }: RuntimeOptions,
  configuration: PolicyConfiguration,
): DecisionSettings {
  return { profile, configuration, ...(origins && { origins }), ...(projects && { projects }) };
}

/** A hash of everything that affects decisions; not of rule origins, given approvals or quotas. */
function versionOf({ profile, configuration, projects = [] }: DecisionSettings): string {
  const deciding = ({ approve: _approve, quotas: _quotas, ...rest }: PolicyConfiguration) => rest;
  const ofProjects = projects.map((project) => deciding(project.configuration));
  return hash(
    "sha256",
    canonicalJson({ profile, configuration: deciding(configuration), projects: ofProjects }),
    "hex",
  );
}

export function readConfiguration(
  { config = {}, network }: RuntimeOptions,
  tools: readonly Tool[],
): PolicyConfiguration {
  const read = checkConfiguration(network === undefined ? config : { ...config, network });
  const { configuration } = read;
  const problems = read.problems.length > 0 ? read.problems : findIdleRules(configuration.rules, tools);
  if (problems.length === 0) return configuration;
  throw new ToolError(
    "InvalidArguments",
    `Cannot start the runtime: ${problems.map((each) => `config.${each}`).join("; ")}`,
    { problems },
  );
}

/** The default actor: this process's user on this host, through the library. */
function ownActor(given: Partial<Actor> = {}): Actor {
  return boundActor({
    user: given.user ?? processUser(),
    chat: given.chat ?? null,
    channel: given.channel ?? "library",
    model: given.model ?? null,
    host: given.host ?? hostname(),
  });
}

/** A user without a passwd entry (a container) has only a number. */
function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
