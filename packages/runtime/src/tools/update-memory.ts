import { z } from "zod";
import type { ToolContext } from "../contract/context.ts";
import type { MemoryEntry, MemoryKeeper } from "../contract/memory.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible, makeVisibleLines } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";

const ACTIONS = ["create", "update", "delete", "list", "search"] as const;
type Action = (typeof ACTIONS)[number];

const MAX_SHOWN = 100;
const DEFAULT_SHOWN = 20;

const args = () =>
  z
    .strictObject({
      action: z.enum(ACTIONS).describe("create, update, delete, list or search"),
      title: z.string().trim().min(1).max(200).optional().describe("Topic, in a few words"),
      knowledge_to_store: z.string().trim().min(1).max(8_000).optional().describe("Text to store"),
      existing_knowledge_id: z.string().min(1).max(100).optional().describe("ID of the entry to update or delete"),
      query: z.string().max(10_000).optional().describe("Words to search for; all must match"),
      limit: z.int().min(1).max(MAX_SHOWN).optional().describe(`Entries per page (default ${DEFAULT_SHOWN})`),
      cursor: z.string().optional().describe("next_page_cursor of the previous page"),
    })
    .superRefine((given, { addIssue }) => {
      const { needs, takes } = FIELDS[given.action];
      for (const field of NAMES) {
        const isGiven = given[field] !== undefined;
        if (!isGiven && isAmong(needs, field))
          addIssue({ code: "custom", path: [field], message: `"${given.action}" needs it` });
        if (isGiven && !isAmong(needs, field) && !isAmong(takes, field))
          addIssue({ code: "custom", path: [field], message: `it is not used with "${given.action}"` });
      }
      if (given.action !== "update" || given.title !== undefined || given.knowledge_to_store !== undefined) return;
      const message = '"update" needs it, or a new "title"';
      addIssue({ code: "custom", path: ["knowledge_to_store"], message });
    });
type Args = z.output<ReturnType<typeof args>>;
type Field = Exclude<keyof Args, "action">;

/** The required and allowed arguments of each action. */
// oxfmt-ignore
const FIELDS = {
  create: { needs: ["title", "knowledge_to_store"], takes: [] },
  update: { needs: ["existing_knowledge_id"],       takes: ["title", "knowledge_to_store"] },
  delete: { needs: ["existing_knowledge_id"],       takes: [] },
  list:   { needs: [],                              takes: ["limit", "cursor"] },
  search: { needs: ["query"],                       takes: ["limit"] },
} as const satisfies Record<Action, { readonly needs: readonly Field[]; readonly takes: readonly Field[] }>;
const NAMES = ["title", "knowledge_to_store", "existing_knowledge_id", "query", "limit", "cursor"] as const;

function isAmong(fields: readonly Field[], field: Field): boolean {
  return fields.includes(field);
}

const returns = () =>
  z.strictObject({
    entries: z
      .array(
        z.strictObject({
          id: z.string(),
          title: z.string(),
          knowledge: z.string(),
          created_at: z.string(),
          updated_at: z.string(),
        }),
      )
      .describe("The created, changed or deleted entry, or the entries found"),
    changed: z.boolean().describe("False if nothing changed"),
    more: z.boolean().describe("Whether there are more entries"),
  });
type Output = ToolOutput<z.input<ReturnType<typeof returns>>>;

export const updateMemory = defineTool({
  name: "update_memory",
  version: "1.0.0",
  description: "Long-term memory across runs: create, update, delete, list or search entries. Secrets are not stored.",
  args,
  returns,
  required_permissions: [],
  side_effects: ["files"],
  risk: "low",
  touches: () => [],
  only_looks: ({ action }) => action === "list" || action === "search",
  permission_class: "file",
  audit_operation: "remember",
  search_hint: "memory remember knowledge know learn recall notes",

  async execute(given, context) {
    return await HANDLERS[given.action](given, { ...context, memory: keeperOf(context) });
  },

  async revert(undo, context) {
    await revertEntry(undoSchema().parse(undo), keeperOf(context));
  },
});

type Context = ToolContext & { readonly memory: MemoryKeeper };

const HANDLERS = {
  async create({ title = "", knowledge_to_store = "" }, { memory }) {
    const { entry, is_new } = await memory.create({ title, knowledge: knowledge_to_store });
    return told("kept", entry, { before: is_new ? null : entry, after: entry });
  },
  async update({ existing_knowledge_id = "", title, knowledge_to_store }, { memory }) {
    const change = {
      ...(title === undefined ? {} : { title }),
      ...(knowledge_to_store === undefined ? {} : { knowledge: knowledge_to_store }),
    };
    const changed = await memory.update(existing_knowledge_id, change);
    if (changed === undefined) throw notThere("update", existing_knowledge_id);
    return told("changed", changed.after, changed);
  },
  async delete({ existing_knowledge_id = "" }, { memory }) {
    const removed = await memory.remove(existing_knowledge_id);
    if (removed === undefined) throw notThere("delete", existing_knowledge_id);
    return told("deleted", removed, { before: removed, after: null });
  },
  async list({ limit = DEFAULT_SHOWN, cursor }, { memory, cursors, limits }) {
    const after = cursor === undefined ? {} : { after: placeSchema().parse(cursors.open(cursor, BOUND_TO)) };
    const page = await memory.list({ limit, ...after });
    const { entries, more } = fitting(page, limits.bytes);
    const last = entries.at(-1);
    const next =
      more && last !== undefined ? cursors.seal({ id: last.id, created_at: last.created_at }, BOUND_TO) : undefined;
    return found(entries, { more, none: "No memory entries", ...(next === undefined ? {} : { next }) });
  },
  async search({ query = "", limit = DEFAULT_SHOWN }, { memory, limits }) {
    const { entries, more } = fitting(await memory.search(query, { limit }), limits.bytes);
    return found(entries, { more, none: "No entry matches all words" });
  },
} as const satisfies Record<Action, (given: Args, context: Context) => Promise<Output>>;

/** A cursor is bound to these. */
const BOUND_TO = ["update_memory", "list"];
const placeSchema = () => z.strictObject({ id: z.string(), created_at: z.number() });

function keeperOf({ memory }: ToolContext): MemoryKeeper {
  if (memory === undefined) throw new Error("update_memory is not available: the host has no memory store");
  return memory;
}

function notThere(action: Action, id: string): ToolError {
  return new ToolError("NotFound", `Cannot ${action} "${makeVisible(id)}": no entry has this id`, {
    field: "existing_knowledge_id",
    hint: "Find its id with list or search.",
  });
}

interface Undo {
  readonly before: MemoryEntry | null;
  readonly after: MemoryEntry | null;
}

function told(what: string, entry: MemoryEntry, undo: Undo): Output {
  const changed = !isSame(undo.before, undo.after);
  const word = changed ? what : "unchanged:";
  return {
    data: { entries: [shown(entry)], changed, more: false },
    stdout: `${word} ${entry.id} ${makeVisible(entry.title)}\n`,
    ...(changed ? { undo } : {}),
  };
}

interface Finding {
  readonly more: boolean;
  readonly none: string;
  readonly next?: string;
}

function found(entries: readonly MemoryEntry[], { more, none, next }: Finding): Output {
  const rest = more && next === undefined ? "More entries match; add words to narrow the search\n" : "";
  return {
    data: { entries: entries.map(shown), changed: false, more },
    stdout: entries.map(toLines).join(""),
    stderr: entries.length === 0 ? `${none}\n` : rest,
    ...(next === undefined ? {} : { next_page_cursor: next }),
  };
}

/** As many as fit, and at least one. */
function fitting(
  { entries, more }: { readonly entries: readonly MemoryEntry[]; readonly more: boolean },
  limit_bytes: number,
): { readonly entries: readonly MemoryEntry[]; readonly more: boolean } {
  let left = limit_bytes;
  let count = 0;
  for (const entry of entries) {
    left -= Buffer.byteLength(toLines(entry));
    if (left < 0 && count > 0) break;
    count++;
  }
  return { entries: entries.slice(0, count), more: more || count < entries.length };
}

function shown({ id, title, knowledge, created_at, updated_at }: MemoryEntry) {
  return { id, title, knowledge, created_at: isoTime(created_at), updated_at: isoTime(updated_at) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function toLines({ id, title, knowledge }: MemoryEntry): string {
  const lines = makeVisibleLines(knowledge).split("\n");
  return `${id} ${makeVisible(title)}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

const entrySchema = () =>
  z.strictObject({
    id: z.string(),
    title: z.string(),
    knowledge: z.string(),
    created_at: z.number(),
    updated_at: z.number(),
  });
const undoSchema = () => z.strictObject({ before: entrySchema().nullable(), after: entrySchema().nullable() });

/** Later changes are not lost. */
async function revertEntry({ before, after }: Undo, memory: MemoryKeeper): Promise<void> {
  const id = before?.id ?? after?.id ?? "";
  const now = (await memory.get(id)) ?? null;
  if (isSame(now, before)) return;
  if (!isSame(now, after)) {
    throw new ToolError("Stale", `Cannot undo the change of entry "${id}": it has changed since`, {
      hint: "Check it with search, then update it.",
    });
  }
  if (before === null) await memory.remove(id);
  else await memory.restore(before);
}

function isSame(one: MemoryEntry | null, other: MemoryEntry | null): boolean {
  return one?.id === other?.id && one?.title === other?.title && one?.knowledge === other?.knowledge;
}
