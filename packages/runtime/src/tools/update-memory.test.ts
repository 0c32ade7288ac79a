import type { ToolCallResult } from "@autonous/runtime";
import type { MemoryEntry, MemoryKeeper } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";

/** The contract in a map, searched the plain way. The real one is the store's, and has its own tests. */
function mapMemory(): MemoryKeeper & { readonly kept: Map<string, MemoryEntry> } {
  const kept = new Map<string, MemoryEntry>();
  let made = 0;
  const newest = (): MemoryEntry[] => [...kept.values()].sort((one, other) => other.created_at - one.created_at);
  const page = (entries: readonly MemoryEntry[], limit: number) => ({
    entries: entries.slice(0, limit),
    more: entries.length > limit,
  });
  return {
    kept,
    async create({ title, knowledge }) {
      const same = [...kept.values()].find((entry) => entry.title === title && entry.knowledge === knowledge);
      if (same !== undefined) return { entry: same, is_new: false };
      const entry = { id: `mem_${++made}`, title, knowledge, created_at: made, updated_at: made };
      kept.set(entry.id, entry);
      return { entry, is_new: true };
    },
    async update(id, change) {
      const before = kept.get(id);
      if (before === undefined) return undefined;
      const after = { ...before, ...change };
      kept.set(id, after);
      return { before, after };
    },
    async remove(id) {
      const entry = kept.get(id);
      kept.delete(id);
      return entry;
    },
    async get(id) {
      return kept.get(id);
    },
    async restore(entry) {
      kept.set(entry.id, entry);
    },
    async list({ limit, after }) {
      return page(
        newest().filter(({ created_at }) => after === undefined || created_at < after.created_at),
        limit,
      );
    },
    async search(query, { limit }) {
      return page(
        newest().filter(({ title, knowledge }) => `${title} ${knowledge}`.includes(query)),
        limit,
      );
    },
  };
}

interface Remembering extends Scratch {
  readonly memory: ReturnType<typeof mapMemory>;
  remember(args: Readonly<Record<string, unknown>>): Promise<ToolCallResult>;
}

async function remembering(options: Parameters<typeof scratch>[0] = {}): Promise<Remembering> {
  const memory = mapMemory();
  const place = await scratch({ memory, ...options });
  return { ...place, memory, remember: (args) => place.call("update_memory", args) };
}

function entriesOf({ payload }: ToolCallResult): readonly MemoryEntry[] {
  return (Object(payload?.data) as { entries: readonly MemoryEntry[] }).entries;
}

const CREATE = { action: "create", title: "Build", knowledge_to_store: "npm run build" };

test("what is kept is found, changed, listed and deleted by its id", async () => {
  const { remember, memory } = await remembering();
  const created = await remember(CREATE);
  const [entry] = entriesOf(created);
  expect(created).toMatchObject({
    ok: true,
    payload: { stdout: "kept mem_1 Build\n", data: { changed: true, more: false } },
  });
  expect(entriesOf(await remember({ action: "search", query: "npm" }))).toEqual([entry]);

  const existing_knowledge_id = entry?.id;
  await remember({ action: "update", existing_knowledge_id, knowledge_to_store: "make" });
  const listed = await remember({ action: "list" });
  expect(listed.payload?.stdout).toBe("mem_1 Build\n  make\n");
  await remember({ action: "delete", existing_knowledge_id });
  expect(memory.kept.size).toBe(0);
});

test("storing the same entry again changes nothing and leaves nothing to undo", async () => {
  const { remember, memory } = await remembering();
  await remember(CREATE);
  const again = await remember(CREATE);
  expect(again.payload?.data).toMatchObject({ entries: [{ id: "mem_1" }], changed: false });
  expect(again.artifacts.undo_id).toBeUndefined();
  expect(memory.kept.size).toBe(1);
});

const CHANGES = [
  { title: "what was created is gone", change: { ...CREATE, title: "Other" } },
  {
    title: "what was updated is as before",
    change: { action: "update", existing_knowledge_id: "mem_1", title: "New", knowledge_to_store: "new" },
  },
  { title: "what was deleted is back", change: { action: "delete", existing_knowledge_id: "mem_1" } },
];

for (const { title, change } of CHANGES) {
  test(`undo: ${title}`, async () => {
    const { remember, memory, runtime } = await remembering({ onApproval: () => ({ answer: "grant" }) });
    await remember(CREATE);
    const before = [...memory.kept.values()];
    const { artifacts } = await remember(change);
    expect([...memory.kept.values()]).not.toEqual(before);

    const undone = await runtime.undo(artifacts.undo_id ?? "");

    expect(undone.error).toBeNull();
    expect([...memory.kept.values()]).toEqual(before);
    expect(await runtime.undo(artifacts.undo_id ?? "")).toMatchObject({ ok: true }); // once more changes nothing
  });
}

test("undo does not overwrite what has changed since", async () => {
  const { remember, memory, runtime } = await remembering({ onApproval: () => ({ answer: "grant" }) });
  const { artifacts } = await remember(CREATE);
  await remember({ action: "update", existing_knowledge_id: "mem_1", title: "Newer" });
  const undone = await runtime.undo(artifacts.undo_id ?? "");
  expect(undone.error?.code).toBe("Stale");
  expect(memory.kept.get("mem_1")?.title).toBe("Newer");
});

test("secrets are not kept, in no way", async () => {
  const { remember, memory, events } = await remembering({ known_secrets: ["hunter2hunter2"] });
  const created = await remember({
    action: "create",
    title: "of hunter2hunter2",
    knowledge_to_store: "hunter2hunter2",
  });
  await remember({ action: "update", existing_knowledge_id: "mem_1", title: "hunter2hunter2 again" });
  expect(created.redacted).toBe(true);
  expect(JSON.stringify([...memory.kept.values()])).not.toContain("hunter2");
  expect(memory.kept.get("mem_1")?.title).toBe("***REDACTED*** again");
  expect(JSON.stringify(await events())).not.toContain("hunter2");
});

test("a long list comes in pages, each once, also while entries are deleted", async () => {
  const { remember } = await remembering();
  for (let i = 1; i <= 7; i++) await remember({ ...CREATE, title: `${i}` });
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await remember({ action: "list", limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...entriesOf(page).map(({ title }) => title));
    cursor = page.payload?.next_page_cursor;
    await remember({ action: "delete", existing_knowledge_id: entriesOf(page)[0]?.id });
  } while (cursor !== undefined);
  expect(seen).toEqual(["7", "6", "5", "4", "3", "2", "1"]);
});

test("a page holds no more than can be shown", async () => {
  const { remember } = await remembering({ limits: { lines: 2000, bytes: 5000 } });
  for (let i = 1; i <= 5; i++) await remember({ ...CREATE, title: `${i}`, knowledge_to_store: `${i}`.repeat(2000) });
  const page = await remember({ action: "list" });
  expect(entriesOf(page)).toHaveLength(2);
  expect(page.payload).toMatchObject({ truncated_bytes: false, next_page_cursor: expect.any(String) as string });
  const found = await remember({ action: "search", query: "" });
  expect(found.payload?.stderr).toBe("More entries match; add words to narrow the search\n");
});

// oxfmt-ignore
const REFUSED = [
  { title: "no title",                   args: { action: "create", knowledge_to_store: "x" },                    says: /"title".*needs it/ },
  { title: "a title of spaces",          args: { ...CREATE, title: "  " },                                       says: /"title"/ },
  { title: "too much knowledge",         args: { ...CREATE, knowledge_to_store: "x".repeat(8001) },              says: /"knowledge_to_store"/ },
  { title: "an update without an id",    args: { action: "update", title: "x" },                                 says: /"existing_knowledge_id".*needs it/ },
  { title: "an update of nothing",       args: { action: "update", existing_knowledge_id: "mem_1" },             says: /"knowledge_to_store".*or a new "title"/ },
  { title: "a search without a query",   args: { action: "search" },                                             says: /"query".*needs it/ },
  { title: "a query that is too long",   args: { action: "search", query: "x".repeat(10_001) },                  says: /"query"/ },
  { title: "a title to search for",      args: { action: "search", query: "x", title: "x" },                     says: /"title".*is not used with "search"/ },
  { title: "an unknown action",          args: { action: "forget" },                                             says: /"action"/ },
];

for (const { title, args, says } of REFUSED) {
  test(`update_memory refuses ${title}`, async () => {
    const { remember } = await remembering();
    const { error } = await remember(args);
    expect(error).toMatchObject({ code: "InvalidArguments", message: expect.stringMatching(says) as string });
  });
}

for (const action of ["update", "delete"]) {
  test(`an id that nothing has cannot be ${action}d`, async () => {
    const { remember } = await remembering();
    const more = action === "update" ? { title: "x" } : {};
    const { error } = await remember({ action, existing_knowledge_id: "mem_9", ...more });
    expect(error).toMatchObject({ code: "NotFound", message: `Cannot ${action} "mem_9": no entry has this id` });
  });
}

test("it is not there where the host keeps nothing", async () => {
  const { runtime, call } = await scratch();
  expect(runtime.tools().map(({ name }) => name)).not.toContain("update_memory");
  expect((await call("update_memory", { action: "list" })).error?.code).toBe("UnknownTool");
});

test("where nothing may be changed it can still be looked at", async () => {
  const { remember, memory, runtime } = await remembering({ profile: "readonly" });
  await memory.create({ title: "Build", knowledge: "make" });
  expect(runtime.tools().map(({ name }) => name)).toContain("update_memory");
  expect(entriesOf(await remember({ action: "list" }))).toHaveLength(1);
  expect(entriesOf(await remember({ action: "search", query: "make" }))).toHaveLength(1);
  for (const args of [CREATE, ...CHANGES.map(({ change }) => change)]) {
    expect((await remember(args)).error?.code).toBe("ToolNotAllowed");
  }
  expect(memory.kept.size).toBe(1);
});

test("a guarded workspace asks for no approval", async () => {
  const { runtime } = await remembering();
  for (const args of [CREATE, ...CHANGES.map(({ change }) => change), { action: "list" }]) {
    expect(await runtime.explain({ name: "update_memory", args })).toMatchObject({ effect: "ALLOW" });
  }
});
