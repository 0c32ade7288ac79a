import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryKeeper, MemoryPage } from "@autonous/runtime/internal";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../open-store.ts";
import { ScratchStore, START_MS, STORE_KINDS } from "../../../../../test/support/store-places.ts";

function afterLast({ entries }: MemoryPage): Pick<Parameters<MemoryKeeper["list"]>[0], "after"> {
  const after = entries.at(-1);
  return after === undefined ? {} : { after };
}

// oxfmt-ignore
const SEARCHES = [
  { query: "deploy",               finds: ["Deploy", "Release"] },
  { query: "DEPLOY",               finds: ["Deploy", "Release"] },
  { query: "dep",                  finds: ["Deploy", "Release"] },
  { query: "friday deploy",        finds: ["Deploy"] },
  { query: "deploy -friday",       finds: ["Deploy"] },
  { query: "uber",                 finds: ["Über uns"] },
  { query: "ÜBER",                 finds: ["Über uns"] },
  { query: "u\u0308ber",           finds: ["Über uns"] },
  { query: "東京",                  finds: ["東京タワー"] },
  { query: '"deploy',              finds: ["Deploy", "Release"] },
  { query: "deploy AND nothing",   finds: [] },
  { query: "title:deploy",         finds: [] },
  { query: "deploy*) OR (a NEAR b", finds: [] },
  { query: "",                     finds: [] },
  { query: "!?* \0 \ud800 ()",     finds: [] },
] as const;

/** Characters of many scripts, and symbols. */
const PIECES = [
  "deploy",
  "Größe",
  "naïve",
  "Ελλάδα",
  "Привет",
  "שלום",
  "مرحبا",
  "हिन्दी",
  "ไทย",
  "한국어",
  "漢字",
  "𠀋",
  "42",
  "v1.2",
  "a_b",
  "C++",
  "🚀",
  "—",
  '"',
  "*",
  "-",
  "(",
  ":",
  " ",
  "\n",
  "e\u0301",
];

describe.each(STORE_KINDS)("the memory on $name", (kind) => {
  async function scratch(): Promise<{ readonly at: ScratchStore; readonly memory: MemoryKeeper }> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    const { memory } = await at.open();
    return { at, memory };
  }

  test("an entry is still there when the store is opened again", async () => {
    const { at, memory } = await scratch();
    const { entry } = await memory.create({ title: "Build", knowledge: "npm run build" });
    const again = await at.open();
    expect(entry.id).toMatch(/^mem_/);
    expect(await again.memory.get(entry.id)).toEqual(entry);
  });

  test("the same title and knowledge return the same entry; a difference creates another", async () => {
    const { at, memory } = await scratch();
    const { entry: first } = await memory.create({ title: "Build", knowledge: "npm run build" });
    at.now++;
    expect(await memory.create({ title: "Build", knowledge: "npm run build" })).toEqual({
      entry: first,
      is_new: false,
    });
    const { entry: other } = await memory.create({ title: "Build", knowledge: "make" });
    expect(other.id).not.toBe(first.id);
  });

  test("an update keeps omitted fields, returns the old entry, and is found only by its new words", async () => {
    const { at, memory } = await scratch();
    const { entry } = await memory.create({ title: "Build", knowledge: "by npm" });
    at.now += 5;

    const changed = await memory.update(entry.id, { knowledge: "by make" });

    expect(changed?.before).toEqual(entry);
    expect(changed?.after).toEqual({ ...entry, knowledge: "by make", updated_at: START_MS + 5 });
    expect((await memory.search("npm", { limit: 5 })).entries).toEqual([]);
    expect((await memory.search("make", { limit: 5 })).entries).toEqual([changed?.after]);
    expect(await memory.update("mem_none", { title: "x" })).toBeUndefined();
  });

  test("a removed entry is gone, and can be restored unchanged", async () => {
    const { memory } = await scratch();
    const { entry } = await memory.create({ title: "Build", knowledge: "by npm" });
    expect(await memory.remove(entry.id)).toEqual(entry);
    expect(await memory.remove(entry.id)).toBeUndefined();
    expect((await memory.search("build", { limit: 5 })).entries).toEqual([]);

    await memory.restore(entry);
    await memory.restore(entry);

    expect((await memory.list({ limit: 5 })).entries).toEqual([entry]);
    expect((await memory.search("build", { limit: 5 })).entries).toEqual([entry]);
  });

  test("entries are listed newest first and page by page", async () => {
    const { at, memory } = await scratch();
    for (const title of ["1", "2", "3", "4", "5"]) {
      await memory.create({ title, knowledge: "x" });
      at.now++;
    }
    const first = await memory.list({ limit: 2 });
    const second = await memory.list({ limit: 2, ...afterLast(first) });
    const last = await memory.list({ limit: 2, ...afterLast(second) });
    expect(first.entries.map(({ title }) => title)).toEqual(["5", "4"]);
    expect(first.more).toBe(true);
    expect(last.entries.map(({ title }) => title)).toEqual(["1"]);
    expect(last.more).toBe(false);
  });

  for (const { query, finds } of SEARCHES) {
    test(`a search for ${JSON.stringify(query)} finds ${finds.length === 0 ? "nothing" : finds.join(", ")}`, async () => {
      const { memory } = await scratch();
      await memory.create({ title: "Release", knowledge: "Tag, then deploy by hand" });
      await memory.create({ title: "Deploy", knowledge: "Never on a Friday" });
      await memory.create({ title: "Über uns", knowledge: "Wer wir sind" });
      await memory.create({ title: "東京タワー", knowledge: "333 m" });

      const { entries } = await memory.search(query, { limit: 10 });

      expect(entries.map(({ title }) => title)).toEqual(finds);
    });
  }

  for (const { query, finds } of [
    { query: "蓝绿", finds: 1 },
    { query: "sqlite", finds: 1 },
    { query: "SQLite 部署", finds: 1 },
    { query: "数据库 蓝绿", finds: 1 },
    { query: "红黑", finds: 0 },
    { query: "sqlite 红黑", finds: 0 },
    { query: "ラーメン", finds: 1 },
  ])
    test(`${query} is found in the middle of a sentence without spaces ${finds} times`, async () => {
      const { memory } = await scratch();
      await memory.create({ title: "部署说明", knowledge: "生产环境使用蓝绿发布，数据库是SQLite。" });
      await memory.create({ title: "昼食", knowledge: "好きなラーメン屋は駅前" });
      expect((await memory.search(query, { limit: 10 })).entries).toHaveLength(finds);
    });

  test("no query is too long or causes an error", async () => {
    const { memory } = await scratch();
    await memory.create({ title: "Deploy", knowledge: "Never on a Friday" });
    expect((await memory.search("x".repeat(10_000), { limit: 1 })).entries).toEqual([]);
    expect((await memory.search("deploy ".repeat(10_000), { limit: 1 })).entries).toHaveLength(1);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 200 }), async (query) => {
        await memory.search(query, { limit: 1 });
      }),
    );
  });

  test("every entry is found by its own words", async () => {
    const { memory } = await scratch();
    const texts = fc
      .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 })
      .map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(texts, async (knowledge) => {
        const {
          entry: { id },
        } = await memory.create({ title: "t", knowledge });
        const { entries } = await memory.search(`t ${knowledge}`, { limit: 10_000 });
        expect(entries.map((entry) => entry.id)).toContain(id);
      }),
      { numRuns: 200 },
    );
  });

  test("a full memory rejects new entries, and returns existing ones", async () => {
    const { memory } = await scratch();
    const { entry: kept } = await memory.create({ title: "kept", knowledge: "x" });
    const restored = { knowledge: "x", created_at: 0, updated_at: 0 };
    await Promise.all(
      Array.from({ length: 9999 }, (_, at) => memory.restore({ id: `mem_${at}`, title: `title ${at}`, ...restored })),
    );

    await expect(memory.create({ title: "one more", knowledge: "x" })).rejects.toMatchObject({
      code: "LimitReached",
      message: 'Cannot remember "one more": the memory already has 10000 entries',
    });
    expect(await memory.create({ title: "kept", knowledge: "x" })).toEqual({ entry: kept, is_new: false });
  });

  test("the search index is consistent in a backup", async () => {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    const store = await at.open();
    const { entry: gone } = await store.memory.create({ title: "first", knowledge: "alpha" });
    await store.memory.create({ title: "second", knowledge: "beta" });
    await store.memory.remove(gone.id);
    const folder = mkdtempSync(join(tmpdir(), "memory-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "copy.db");
    await store.upkeep.backup(file);

    const copy = await openStore({ file, clock: () => START_MS });
    onTestFinished(() => copy.close());
    expect((await copy.memory.search("beta", { limit: 5 })).entries.map(({ title }) => title)).toEqual(["second"]);
  });
});
