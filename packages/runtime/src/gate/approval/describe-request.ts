import type { PlannedFile, ToolContext } from "../../contract/context.ts";
import { plainJson, showPlainly } from "../../output/look-alikes.ts";
import { offersFor } from "../../policy/rules/grants.ts";
import type { ApprovalRequest } from "../../protocol/approval.ts";
import { labelled } from "../../protocol/call.ts";
import { makeId } from "../../protocol/ids.ts";
import { quoteForShell } from "../../protocol/shell-quote.ts";
import { describeEach, describeOpaque } from "../../shell/describe.ts";
import { createContext } from "../context/tool-context.ts";
import type { GateParts } from "../parts.ts";
import { factsOf } from "../permit.ts";
import type { Permitted } from "../stages.ts";
import { describeChanges } from "./change-diffs.ts";
import { callDigestOf, digestOf } from "./digest.ts";
import type { BoundCall } from "./digest.ts";

/** Limit for one command line argument: the system allows 128 KB. */
const REPLAY_BYTES = 100_000;

/**
 * Builds the approval request: everything that the call would do, redacted, control characters escaped. Throws the
 * call's own error if the preview already fails.
 */
export async function describeRequest(call: Permitted, parts: GateParts, bound: BoundCall): Promise<ApprovalRequest> {
  const { binding, bases } = bound;
  const planned = await previewCall(call, parts);
  const { reason, rule, scope = "call" } = call.decision;
  const { tool_call_id, run_id, trace_id, task_id = null } = call.request;
  const show = (text: string): string => showPlainly(parts.redactor.redact(text).text);
  const digest = digestOf(binding, bases);
  const call_digest = callDigestOf(binding);
  const offers = offersFor(factsOf(call), { call_digest, workspace: parts.workspace }).filter(
    // A redacted pattern would match nothing, so one that contains a secret is not offered.
    ({ pattern }) => !parts.redactor.redactValue(pattern).redacted,
  );
  const commands = commandsOf(call, show);
  const now = parts.clock();
  const { script } = binding;
  return {
    approval_id: makeId("apr", now),
    tool_call_id,
    run_id,
    trace_id,
    task_id,
    chat: call.options.chat ?? null,
    user: call.options.user ?? null,
    tool: binding.tool,
    version: binding.version,
    risk: call.risk,
    ...labelled(call.tool),
    reason: show(reason),
    rule: show(rule),
    params: showValue(call.params),
    ...argsOf(call, parts, digest),
    touches: call.touches.map(({ path, access }) => ({ path: show(path), access })),
    ...(planned === undefined ? {} : { changes: await describeChanges(planned, parts.redactor) }),
    ...(commands.length === 0 ? {} : { commands }),
    ...(script === undefined
      ? {}
      : { script: { skill: show(script.skill), path: show(script.path), sha256: script.sha256 } }),
    scope,
    offers: offers.map((offer) => ({ ...offer, words: show(offer.words) })),
    digest,
    call_digest,
    policy_version: binding.policy_version,
    requested_at: new Date(now).toISOString(),
    expires_at: new Date(now + parts.approval_timeout_ms).toISOString(),
  };
}

/** The exact arguments, for editing and for the replay command: only if they contain no secret. */
function argsOf(
  call: Permitted,
  { replay_options }: GateParts,
  digest: string,
): Pick<ApprovalRequest, "args_json" | "replay"> {
  if (call.params_redacted) return { replay: "" };
  const args_json = plainJson(call.args);
  if (Buffer.byteLength(args_json) > REPLAY_BYTES) return { replay: "" };
  const words = [call.tool.name, args_json, ...replay_options, "--approve", digest];
  return { args_json, replay: `autonous call ${words.map(quoteForShell).join(" ")}` };
}

/** Escapes names as well as values: either could hide something. */
function showValue(value: unknown): unknown {
  if (typeof value === "string") return showPlainly(value);
  if (Array.isArray(value)) return value.map(showValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [showPlainly(key), showValue(member)]));
}

type ShownCommand = NonNullable<ApprovalRequest["commands"]>[number];

/** Each parsed command with the findings of the policy. */
function commandsOf({ commands }: Permitted, show: (text: string) => string): ShownCommand[] {
  return commands.flatMap(({ parsed, verdict, folder, network }) => {
    const about = { folder: show(folder), network };
    const told = new Set<string>();
    const lines = describeEach(parsed).map(({ shown, line }): ShownCommand => {
      const found = verdict.findings.filter(({ command }) => command === line);
      told.add(line);
      return { command: show(shown), ...about, ...foundIn(found, show) };
    });
    const opaque = describeOpaque(parsed).map((line): ShownCommand => ({ command: show(line), ...about }));
    // Findings in a command that only wraps others have no line yet.
    const rest = verdict.findings.filter(({ level, command }) => level !== "opaque" && !told.has(command));
    const carried = rest.map((each): ShownCommand => ({
      command: show(each.command),
      ...about,
      ...foundIn([each], show),
    }));
    return withoutRepeats([...lines, ...opaque, ...carried]);
  });
}

function foundIn(
  findings: readonly { readonly reason: string }[],
  show: (text: string) => string,
): { readonly found?: string } {
  return findings.length === 0 ? {} : { found: show(findings.map(({ reason }) => reason).join("; ")) };
}

function withoutRepeats(commands: readonly ShownCommand[]): ShownCommand[] {
  return [...new Map(commands.map((each) => [`${each.command}\0${each.found ?? ""}`, each])).values()];
}

/**
 * Runs the call without side effects if its tool supports that, and returns the planned changes. Throws the call's own
 * error, so that a person is not asked about an impossible call.
 */
async function previewCall(call: Permitted, parts: GateParts): Promise<readonly PlannedFile[] | undefined> {
  const { tool } = call;
  if (!tool.previews) return undefined;
  const planned: PlannedFile[] = [];
  const deadline = AbortSignal.timeout(tool.deadline_ms ?? parts.timeout_ms);
  const { signal } = call.options;
  const stop = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const context = withoutEffect(
    createContext(call, parts, { approval: null, signal: stop, onPlanned: (files) => planned.push(...files) }),
  );
  await tool.execute(call.args, context);
  return planned;
}

function withoutEffect(context: ToolContext): ToolContext {
  const refuse = (): never => {
    throw new Error('A tool that "previews" may use files, search and undo only');
  };
  const closed = new Proxy({}, { get: () => refuse });
  return {
    ...context,
    processes: closed as ToolContext["processes"],
    network: closed as ToolContext["network"],
    skills: closed as ToolContext["skills"],
    openTranscript: refuse,
    undo: { ...context.undo, revert: () => Promise.resolve() },
    progress: () => {},
  };
}
