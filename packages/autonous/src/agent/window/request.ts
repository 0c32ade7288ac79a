import type { ToolInfo } from "@autonous/runtime";
import type { ModelProvider, ModelRequest } from "../../model/provider.ts";
import { showWindow, stablePlaces } from "./context-window.ts";
import { writeInstructions } from "../instructions.ts";
import { chooseTools } from "../offered-tools.ts";
import type { AgentOptions, Run } from "../agent-run.ts";
import { fixedTokens, requestTokens } from "./tokens.ts";
import { ratioOf, replyRoom, searchedLimit } from "./window-limits.ts";
import type { ModelLimits } from "./window-limits.ts";

/** Used if neither the host nor the provider reports a context window. */
const DEFAULT_CONTEXT_TOKENS = 100_000;

/** Offered from the start if there are skills. */
const SKILL_READER = "read_skill";

interface FixedPart extends Pick<ModelRequest, "system" | "tools"> {
  /** Names of tools that are not sent but can be searched for. */
  readonly deferred: readonly string[];
}

type RequestSource = Pick<AgentOptions, "provider" | "project" | "first_tools"> & {
  readonly runtime: Pick<AgentOptions["runtime"], "tools">;
  /** Context window in tokens. */
  readonly context_tokens?: number | undefined;
};

/** One byte per token of the window, about a quarter of it. From 32 KiB on, all notes are sent. */
function notesBytes(context_tokens: number): number {
  return Math.min(context_tokens, MAX_NOTES_BYTES);
}

/** Maximum size of notes, so that learning the size of a large window does not change the request. */
const MAX_NOTES_BYTES = 32_768;

/** The constant start of every request of a run: the system text and the offered tools. */
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

/** Size of a request without messages, for showing the base cost. */
export function measureRequest(source: RequestSource): RequestSize {
  const { system, tools, deferred } = fixedPart(source, []);
  const { protocol = "plain" } = source.provider;
  const bytes = Buffer.byteLength(system) + (protocol === "native" ? Buffer.byteLength(JSON.stringify(tools)) : 0);
  return { bytes, tokens: fixedTokens({ system, tools }, protocol), tools: tools.length, deferred: deferred.length };
}

interface LastPart {
  /** What the base was built from. Found tools are never removed. */
  readonly offered: readonly ToolInfo[];
  readonly provider: ModelProvider;
  readonly found: number;
  readonly notes_bytes: number;
  readonly part: FixedPart;
  readonly tokens: number;
}

const lastParts = new WeakMap<Run, LastPart>();

/** Called several times per request. Rebuilt when a tool was found or registered, or the model or its small window changed. */
function lastPartOf(run: Run): LastPart {
  const offered = run.options.runtime.tools();
  const { provider } = run;
  const made_of = { offered, provider, found: run.found.size, notes_bytes: notesBytes(contextLimit(run)) };
  const last = lastParts.get(run);
  if (last !== undefined && isUnchanged(last, made_of)) return last;
  const context_tokens = contextLimit(run);
  const part = fixedPart({ ...run.options, provider, project: run.project, context_tokens }, run.found);
  const made = { ...made_of, part, tokens: fixedTokens(part, provider.protocol ?? "plain") };
  lastParts.set(run, made);
  return made;
}

function isUnchanged(last: LastPart, now: Omit<LastPart, "part" | "tokens">): boolean {
  return (
    last.offered === now.offered &&
    last.provider === now.provider &&
    last.found === now.found &&
    last.notes_bytes === now.notes_bytes
  );
}

/** Estimated tokens available for messages. */
export function messageBudget(run: Run): number {
  return Math.max(0, Math.floor(inputLimit(run) / ratioOf(limitsOf(run))) - lastPartOf(run).tokens);
}

/** Known limits of the model in use. */
export function limitsOf({ window, provider }: Pick<Run, "window" | "provider">): ModelLimits {
  return window.models?.[provider.name] ?? {};
}

/** The window state with new limits for the model in use. */
export function withLimits({ window, provider }: Pick<Run, "window" | "provider">, limits: ModelLimits): Run["window"] {
  return { ...window, models: { ...window.models, [provider.name]: limits } };
}

/** The user's setting bounds the server's value. */
function contextLimit(run: Run): number {
  const { options, provider, window } = run;
  const said = limitsOf(run).context_tokens ?? window.context_tokens;
  const set = options.context_tokens ?? provider.context_tokens;
  if (said !== undefined && set !== undefined) return Math.min(said, set);
  return said ?? set ?? DEFAULT_CONTEXT_TOKENS;
}

/** Maximum size of a request, in tokens as the server counts. */
function inputLimit(run: Run): number {
  const known = limitsOf(run);
  const limit = contextLimit(run);
  const room = limit - replyRoom(known, limit, run.provider.max_output_tokens);
  return Math.max(0, Math.min(room, searchedLimit(known) ?? room));
}

/** Size and limits of a request, in tokens as the server counts. */
export interface WindowUse {
  /** System text and tools, which no window can omit. */
  readonly fixed: number;
  readonly room: number;
  readonly limit: number;
}

export function windowUse(run: Run): WindowUse {
  const fixed = Math.ceil(lastPartOf(run).tokens * ratioOf(limitsOf(run)));
  return { fixed, room: inputLimit(run), limit: contextLimit(run) };
}

/** Share of the model's window that the next request would use. */
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
