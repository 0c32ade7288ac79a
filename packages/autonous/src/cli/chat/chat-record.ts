import type { RuntimeEvent } from "@autonous/runtime";
import type { ModelUsage } from "../../model/provider.ts";

/** The usage of a model in a chat. */
export interface ModelUse {
  readonly model: string;
  readonly rounds: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  /** Null: at least one round has no price. */
  readonly cost: number | null;
  /** The provider did not report token counts, so they are estimated. */
  readonly estimated: boolean;
}

/** The changes of one message that are not undone yet, oldest first. */
export interface MessageChanges {
  readonly task_id: string;
  readonly undo_ids: readonly string[];
}

/** A chat as its run recorded it. */
export interface ChatRecord {
  /** The first message, redacted. */
  readonly first: string | undefined;
  readonly messages: number;
  /** Whether the run is a chat and not a single task. */
  readonly isChat: boolean;
  readonly models: readonly ModelUse[];
  /** The changes per message, in order. */
  readonly changes: readonly MessageChanges[];
}

interface Draft {
  first: string | undefined;
  readonly providers: Map<string, string>;
  isChat: boolean;
  readonly models: Map<string, ModelUse>;
  readonly changes: Map<string, string[]>;
  readonly undone: Set<string>;
}

export async function readChatRecord(events: AsyncIterable<RuntimeEvent>): Promise<ChatRecord> {
  const draft: Draft = {
    first: undefined,
    providers: new Map(),
    isChat: false,
    models: new Map(),
    changes: new Map(),
    undone: new Set(),
  };
  for await (const event of events) PLACES[event.type]?.(draft, event);
  const { first, providers, models, undone } = draft;
  const changes = [...draft.changes].flatMap(([task_id, all]): MessageChanges[] => {
    const undo_ids = all.filter((undo_id) => !undone.has(undo_id));
    return undo_ids.length === 0 ? [] : [{ task_id, undo_ids }];
  });
  const isChat = draft.isChat || providers.size > 1;
  return { first, messages: providers.size, isChat, models: [...models.values()], changes };
}

// oxfmt-ignore
const PLACES: Readonly<Record<string, (draft: Draft, event: RuntimeEvent) => void>> = {
  "agent.started":       noteStart,
  "model.completed":     noteUse,
  "model.billed":        noteUse,
  "tool_call.completed": noteChange,
  "tool_call.failed":    noteChange,
  "undo.applied":        noteUndo,
};

function noteStart(draft: Draft, { task_id, payload }: RuntimeEvent): void {
  const { task, provider, source } = payload as {
    readonly task: string;
    readonly provider: string;
    readonly source?: string;
  };
  if (task_id === null) return;
  draft.first ??= task;
  draft.isChat ||= source === "chat";
  draft.providers.set(task_id, provider);
}

/** The fields that every round's event has. */
interface RecordedRound {
  readonly usage?: (ModelUsage & { readonly estimated?: true }) | null;
  readonly cost?: number | null;
  readonly provider?: string;
}

function noteUse({ providers, models }: Draft, { type, task_id, payload }: RuntimeEvent): void {
  const { usage, cost = null, provider } = payload as RecordedRound;
  if (!usage) return;
  const model = provider ?? providers.get(task_id ?? "") ?? "?";
  const before = models.get(model);
  models.set(model, {
    model,
    rounds: (before?.rounds ?? 0) + (type === "model.completed" ? 1 : 0),
    input_tokens: (before?.input_tokens ?? 0) + usage.input_tokens,
    output_tokens: (before?.output_tokens ?? 0) + usage.output_tokens,
    cached_input_tokens: (before?.cached_input_tokens ?? 0) + (usage.cached_input_tokens ?? 0),
    cost: cost === null || before?.cost === null ? null : (before?.cost ?? 0) + cost,
    estimated: usage.estimated === true || before?.estimated === true,
  });
}

function noteChange({ changes }: Draft, { task_id, payload }: RuntimeEvent): void {
  const { artifacts } = (payload["audit"] ?? {}) as { readonly artifacts?: { readonly undo_id?: string } };
  const undo_id = artifacts?.undo_id;
  // Changes without a task, such as an undo by the chat itself, belong to no message.
  if (undo_id === undefined || task_id === null) return;
  changes.set(task_id, [...(changes.get(task_id) ?? []), undo_id]);
}

/** An undo by the model is a change of its message, and can itself be undone. */
function noteUndo({ undone }: Draft, { task_id, payload }: RuntimeEvent): void {
  if (task_id !== null) return;
  for (const undo_id of (payload["undo_ids"] ?? []) as readonly string[]) undone.add(undo_id);
}

/** The sum over all models; `cost` is null if a round has no price. */
export function totalUse(models: readonly ModelUse[]): Omit<ModelUse, "model"> {
  const sum = (pick: (use: ModelUse) => number): number => models.reduce((total, each) => total + pick(each), 0);
  return {
    rounds: sum(({ rounds }) => rounds),
    input_tokens: sum(({ input_tokens }) => input_tokens),
    output_tokens: sum(({ output_tokens }) => output_tokens),
    cached_input_tokens: sum(({ cached_input_tokens }) => cached_input_tokens),
    cost: models.some(({ cost }) => cost === null) ? null : sum(({ cost }) => cost ?? 0),
    estimated: models.some(({ estimated }) => estimated),
  };
}
