import type { StartCommit } from "../../contract/journal.ts";
import type { Counts } from "../../contract/quotas.ts";
import { excerptHead } from "../../output/excerpt.ts";
import { ToolError } from "../../protocol/errors.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { actorOf, draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import { onlyLooks } from "../permit.ts";
import { quotaHolder } from "../quota/quota.ts";
import type { Admitted, Approved, Checked, Stage, Started } from "../stages.ts";

/** Step 8. If the start cannot be recorded, nothing runs. */
export async function recordStart(call: Approved, parts: GateParts): Promise<Started> {
  const { tool } = call;
  call.options.signal?.throwIfAborted();
  const { tool_call_id } = call.request;
  const isDurable = needsDisk(call);
  const isLater = isDurable && tool.changes_by_handle && parts.journal.sync !== undefined;
  let started: string;
  try {
    const payload = {
      tool_call_id,
      tool_name: tool.name,
      arguments: shortenParams(call, parts),
      actor: actorOf(call, parts),
    };
    const draft = draftEvent(call, "tool_call.started", payload, parts.clock());
    await parts.quotas.charge(call, async (counts) => {
      const commit = await useUp(call, parts, counts);
      await parts.journal.append([draft], {
        durable: isDurable && !isLater,
        ...(commit === undefined ? {} : { commit }),
      });
    });
    started = draft.event_id;
  } catch (error) {
    throw error instanceof ToolError ? error : startNotRecorded(tool.name, error);
  }
  if (!isLater) return { ...call, started, durable: null };
  const durable = (async () => await parts.journal.sync?.())(); // never throws here: the start is recorded already
  durable.catch(() => {}); // reported when the tool first changes something
  return { ...call, started, durable };
}

/**
 * Consumes the approval and quota of a call at its start. Journals with `commits` do it in the same transaction; for
 * others it is done before, so that an approval never covers two calls.
 */
async function useUp(
  call: Approved,
  { journal, host_keeps, approvals, quotas }: GateParts,
  counts: Counts | undefined,
): Promise<StartCommit | undefined> {
  const approval_id = call.approval?.approval_id ?? null;
  const commits = {
    approval: journal.commits === true && host_keeps.approvals,
    quota: journal.commits === true && host_keeps.quotas,
  };
  if (approval_id !== null && !commits.approval && !(await approvals.use(approval_id))) {
    throw new ToolError(
      "ApprovalExpired",
      `Cannot run "${call.tool.name}": its approval was used, revoked or expired before it started`,
      { approval_id },
    );
  }
  if (counts !== undefined && !commits.quota) await quotas.add(call, counts);
  const commit = {
    ...(approval_id !== null && commits.approval ? { approval_id } : {}),
    ...(counts !== undefined && commits.quota ? { quota: { holder: quotaHolder(call), counts } } : {}),
  };
  return Object.keys(commit).length === 0 ? undefined : commit;
}

/** Waits until the start is on disk. */
export async function waitForRecord({ tool, durable }: Started): Promise<void> {
  try {
    await durable;
  } catch (error) {
    throw startNotRecorded(tool.name, error);
  }
}

function startNotRecorded(name: string, error: unknown): ToolError {
  return new ToolError(
    "RecordFailed",
    `Cannot run "${name}": its start could not be recorded (${reasonOf(error)}), so nothing was run`,
    {},
    error,
  );
}

/** Calls that change something are recorded on disk before they run; for others it is enough to survive the process. */
export function needsDisk(call: Admitted): boolean {
  const { commands, touches } = call;
  const commandsOnlyLook =
    commands.length > 0 &&
    commands.every(({ read_only, network }) => read_only && !network) &&
    touches.every(({ access }) => access === "read" || access === "list");
  return hasSideEffects(call) && !commandsOnlyLook;
}

export function hasSideEffects(call: Checked): boolean {
  return !onlyLooks(call) && call.tool.side_effects.some((effect) => effect !== "none");
}

const LONG_BYTES = 4096; // spec 1: events show an excerpt of longer arguments

/** The arguments as shown in events: redacted, and if long an excerpt with a reference. Computed once. */
export function shortenParams(call: Stage, { folder, redactor }: GateParts): unknown {
  const { attempt, request } = call;
  const params = "params" in call ? call.params : redactor.redactValue(request.args).value;
  const known = attempt.short_params;
  if (known !== null && known.of === params) return known.value;
  const json = JSON.stringify(params);
  if (known !== null && known.json === json) return known.value; // evaluated again: the same arguments, stored already
  const value = isLong(json) ? storeLong() : params;
  attempt.short_params = { of: params, json, value };
  return value;

  function storeLong(): unknown {
    const { storage_ref, sha256 } = folder.storeText(`${request.tool_call_id}.arguments.json`, json);
    attempt.stored = { ...attempt.stored, [storage_ref]: sha256 };
    return { excerpt: excerptHead(json, { lines: 1, bytes: LONG_BYTES }).text, storage_ref, sha256 };
  }
}

function isLong(text: string): boolean {
  return text.length > LONG_BYTES || Buffer.byteLength(text) > LONG_BYTES;
}
