import type { ToolInfo } from "@autonous/runtime";
import type { ModelProvider, ModelRequest } from "../../model/provider.ts";
import { showWindow, stablePlaces } from "./context-window.ts";
import { writeInstructions } from "../instructions.ts";
import { chooseTools } from "../offered-tools.ts";
import type { AgentOptions, Run } from "../agent-run.ts";
import { fixedTokens, requestTokens } from "./tokens.ts";
import { ratioOf, replyRoom, searchedLimit } from "./window-limits.ts";
import type { ModelLimits } from "./window-limits.ts";

/** Where neither the host nor the provider says how much fits. */
const DEFAULT_CONTEXT_TOKENS = 100_000;

/** Offered from the start where there is a skill to be read. */
const SKILL_READER = "read_skill";

interface FixedPart extends Pick<ModelRequest, "system" | "tools"> {
  /** Names of tools that are not sent, and can be looked for. */
  readonly deferred: readonly string[];
}

type RequestSource = Pick<AgentOptions, "provider" | "project" | "first_tools"> & {
  readonly runtime: Pick<AgentOptions["runtime"], "tools">;
  /** How many tokens fit into a request. */
  readonly context_tokens?: number | undefined;
};

/** A byte per token of the window: about a quarter of it. Where 32 KiB are less than that, all notes are sent. */
function notesBytes(context_tokens: number): number {
  return Math.min(context_tokens, MAX_NOTES_BYTES);
}

/** No notes are longer, so that what is learned of a large window changes nothing in the request. */
const MAX_NOTES_BYTES = 32_768;

/** What every request of a run begins with: the system text, and the tools that are offered. */
function fixedPart(
  { provider, runtime, project = {}, first_tools: first = [], context_tokens }: RequestSource,
  found: Iterable<string>,
): FixedPart {
  const budget = provider.wants_all_tools === true ? { budget_bytes: Number.POSITIVE_INFINITY } : {};
  const reading = (project.skills ?? []).length > 0 || project.skill !== undefined ? [SKILL_READER] : [];
  const { offered, deferred } = chooseTools(runtime.tools(), { found, first: [...first, ...reading], ...budget });
  const { protocol = "plain" } = provider;
  const notes_bytes = notesBytes(context_tokens ?? provider.context_tokens ?? DEFAULT_CONTEXT_TOKENS);
  const system = writeInstructions({ protocol, tools: offered, deferred, project, notes_bytes });
  return { system, tools: offered, deferred };
}

interface RequestSize {
  readonly bytes: number;
  readonly tokens: number;
  readonly tools: number;
  readonly deferred: number;
}

/** How large a request is before anything has been said, for whoever wants to know what each one costs. */
export function measureRequest(asking: RequestSource): RequestSize {
  const { system, tools, deferred } = fixedPart(asking, []);
  const { protocol = "plain" } = asking.provider;
  const bytes = Buffer.byteLength(system) + (protocol === "native" ? Buffer.byteLength(JSON.stringify(tools)) : 0);
  return { bytes, tokens: fixedTokens({ system, tools }, protocol), tools: tools.length, deferred: deferred.length };
}

interface LastPart {
  /** What it was made of; found tools are never taken back. */
  readonly offered: readonly ToolInfo[];
  readonly provider: ModelProvider;
  readonly found: number;
  readonly notes_bytes: number;
  readonly part: FixedPart;
  readonly tokens: number;
}

const lastParts = new WeakMap<Run, LastPart>();

/** Asked several times for each request. It changes when a tool was found or registered, or the model in use or its small window changed. */
function lastPartOf(run: Run): LastPart {
  const offered = run.options.runtime.tools();
  const { provider } = run;
  const made_of = { offered, provider, found: run.found.size, notes_bytes: notesBytes(contextLimit(run)) };
  const last = lastParts.get(run);
  if (last !== undefined && isMadeOf(last, made_of)) return last;
  const context_tokens = contextLimit(run);
  const part = fixedPart({ ...run.options, provider, project: run.project, context_tokens }, run.found);
  const made = { ...made_of, part, tokens: fixedTokens(part, provider.protocol ?? "plain") };
  lastParts.set(run, made);
  return made;
}

function isMadeOf(last: LastPart, now: Omit<LastPart, "part" | "tokens">): boolean {
  return (
    last.offered === now.offered &&
    last.provider === now.provider &&
    last.found === now.found &&
    last.notes_bytes === now.notes_bytes
  );
}

/** How many tokens, as estimated here, what was said may take. */
export function messageBudget(run: Run): number {
  return Math.max(0, Math.floor(inputLimit(run) / ratioOf(limitsOf(run))) - lastPartOf(run).tokens);
}

/** What is known of the model in use. */
export function limitsOf({ window, provider }: Pick<Run, "window" | "provider">): ModelLimits {
  return window.models?.[provider.name] ?? {};
}

/** The same run, with what was learned of the model in use. */
export function withLimits({ window, provider }: Pick<Run, "window" | "provider">, limits: ModelLimits): Run["window"] {
  return { ...window, models: { ...window.models, [provider.name]: limits } };
}

/** What the user set bounds what a server says. */
function contextLimit(run: Run): number {
  const { options, provider, window } = run;
  const said = limitsOf(run).context_tokens ?? window.context_tokens;
  const set = options.context_tokens ?? provider.context_tokens;
  if (said !== undefined && set !== undefined) return Math.min(said, set);
  return said ?? set ?? DEFAULT_CONTEXT_TOKENS;
}

/** How many tokens a request may have, as its server counts. */
function inputLimit(run: Run): number {
  const known = limitsOf(run);
  const limit = contextLimit(run);
  const room = limit - replyRoom(known, limit, run.provider.max_output_tokens);
  return Math.max(0, Math.min(room, searchedLimit(known) ?? room));
}

/** The numbers of a request as its server counts, and of what it can take. */
export interface WindowUse {
  /** Of the system text and the tools, which no window can leave out. */
  readonly fixed: number;
  readonly room: number;
  readonly limit: number;
}

export function windowUse(run: Run): WindowUse {
  const fixed = Math.ceil(lastPartOf(run).tokens * ratioOf(limitsOf(run)));
  return { fixed, room: inputLimit(run), limit: contextLimit(run) };
}

/** What the next request would take of the model's window. */
export function contextUse(run: Run): { readonly tokens: number; readonly limit: number } {
  const tokens = Math.ceil(estimatedTokens(run, nextRequest(run)) * ratioOf(limitsOf(run)));
  return { tokens, limit: contextLimit(run) };
}

export function estimatedTokens({ provider }: Pick<Run, "provider">, request: ModelRequest): number {
  return requestTokens(request, provider.protocol ?? "plain");
}

export function nextRequest(run: Run): ModelRequest {
  const { window, messages, rounds } = run;
  const { system, tools } = lastPartOf(run).part;
  return {
    system,
    tools,
    messages: showWindow(window, messages),
    rounds,
    stable_until: stablePlaces(window, messages),
  };
}
