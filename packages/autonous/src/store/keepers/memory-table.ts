import { ToolError } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { MemoryEntry, MemoryKeeper, MemoryPage } from "@autonous/runtime/internal";
import type { Database, Queries } from "../sqlite/database.ts";

const COLUMNS = "id, title, knowledge, created_at, updated_at";
const BY_ID = `select ${COLUMNS} from memory where id = ?`;
const SAME = `select ${COLUMNS} from memory where title = ? and knowledge = ? order by created_at, id limit 1`;
const COUNT = "select count(*) as count from memory";
const PUT = `insert into memory (${COLUMNS}) values (?, ?, ?, ?, ?)
  on conflict (id) do update set title = excluded.title, knowledge = excluded.knowledge,
    created_at = excluded.created_at, updated_at = excluded.updated_at`;
const REMOVE = "delete from memory where id = ?";
const NEWEST = `select ${COLUMNS} from memory where (created_at, id) < (?, ?) order by created_at desc, id desc limit ?`;
const BEFORE_ALL = { created_at: Number.MAX_SAFE_INTEGER, id: "" };
/** A match in the title has four times the weight: the title names the subject of an entry. */
const SEARCH = `select ${COLUMNS.replaceAll(/\w+/g, "memory.$&")} from memory_words
  join memory on memory.position = memory_words.rowid where memory_words match ?
  order by bm25(memory_words, 4.0, 1.0), memory.created_at desc, memory.id desc limit ?`;

/** Scripts without spaces between words: the index treats whole sentences of them as one word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Entries that contain all words as substrings. Matches in the title come first. */
const ANYWHERE = `select ${COLUMNS} from memory
  where not exists (select 1 from json_each(?1) as word where instr(lower(title || ' ' || knowledge), lower(word.value)) = 0)
  order by exists (select 1 from json_each(?1) as word where instr(lower(title), lower(word.value)) > 0) desc,
    created_at desc, id desc limit ?2`;

/** More than anyone needs, and few enough for a fast search. */
const MAX_ENTRIES = 10_000;

export function createMemory(database: Database, clock: () => number): MemoryKeeper {
  return {
    create: (entry) =>
      database.transaction("create a memory entry", (queries) => create(queries, { ...entry, now: clock() })),
    update: (id, change) =>
      database.transaction(`change memory entry "${id}"`, async (queries) => {
        const before = await find(queries, id);
        if (before === undefined) return undefined;
        const after = { ...before, ...change, updated_at: clock() };
        await put(queries, after);
        return { before, after };
      }),
    remove: (id) =>
      database.transaction(`delete memory entry "${id}"`, async (queries) => {
        const entry = await find(queries, id);
        if (entry !== undefined) await queries.run(REMOVE, [id]);
        return entry;
      }),
    restore: (entry) => database.transaction(`restore memory entry "${entry.id}"`, (queries) => put(queries, entry)),
    get: (id) => database.read(`read memory entry "${id}"`, (queries) => find(queries, id)),
    list: ({ limit, after = BEFORE_ALL }) =>
      database.read("list memory entries", async (queries) =>
        pageOf(await queries.all<MemoryEntry>(NEWEST, [after.created_at, after.id, limit + 1]), limit),
      ),
    search: (query, { limit }) =>
      database.read("search memory entries", async (queries) => {
        const words = wordsOf(query);
        if (words.length === 0) return pageOf([], limit);
        const found = await queries.all<MemoryEntry>(SEARCH, [matchOf(words), limit + 1]);
        if (found.length > 0 && !words.some((word) => UNSPACED.test(word))) return pageOf(found, limit);
        return pageOf(await queries.all<MemoryEntry>(ANYWHERE, [JSON.stringify(words), limit + 1]), limit);
      }),
  };
}

interface NewEntry {
  readonly title: string;
  readonly knowledge: string;
  readonly now: number;
}

async function create(
  queries: Queries,
  { title, knowledge, now }: NewEntry,
): Promise<{ readonly entry: MemoryEntry; readonly is_new: boolean }> {
  const same = await queries.one<MemoryEntry>(SAME, [title, knowledge]);
  if (same !== undefined) return { entry: same, is_new: false };
  const kept = await queries.one<{ readonly count: number }>(COUNT);
  if (kept !== undefined && kept.count >= MAX_ENTRIES) {
    throw new ToolError("LimitReached", `Cannot remember "${title}": the memory already has ${kept.count} entries`, {
      most: MAX_ENTRIES,
      hint: "Delete entries that are no longer needed, or merge several into one with an update.",
    });
  }
  const entry = { id: makeId("mem", now), title, knowledge, created_at: now, updated_at: now };
  await put(queries, entry);
  return { entry, is_new: true };
}

async function put(queries: Queries, { id, title, knowledge, created_at, updated_at }: MemoryEntry): Promise<void> {
  await queries.run(PUT, [id, title, knowledge, created_at, updated_at]);
}

function find(queries: Queries, id: string): Promise<MemoryEntry | undefined> {
  return queries.one<MemoryEntry>(BY_ID, [id]);
}

function pageOf(found: readonly MemoryEntry[], limit: number): MemoryPage {
  return { entries: found.slice(0, limit), more: found.length > limit };
}

/** Words as the index splits them: letters and digits of any script, with combining marks. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** More words do not make a query more specific. */
const MAX_WORDS = 32;
const BEGINNING = /^.{1,64}/u;

/** The words of a query, without operators. */
function wordsOf(query: string): readonly string[] {
  const words = new Set<string>();
  for (const [word] of query.matchAll(WORD)) {
    words.add(BEGINNING.exec(word)?.[0] ?? "");
    if (words.size === MAX_WORDS) break;
  }
  return [...words];
}

/** Quotes each word, so that no part of a query is parsed as an operator. */
function matchOf(words: readonly string[]): string {
  return words.map((word) => `"${word}"*`).join(" ");
}
