import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { changesSince, TrustStore } from "./trust-store.ts";
import type { TrustItem, TrustedItem } from "./trust-store.ts";

const STAMP = { trusted_at: "2026-01-31T12:00:00Z", by: "ann" };

function skill(path: string, digest = "d1"): TrustedItem {
  return { kind: "skill", path, digest, files: [{ path: "SKILL.md", sha256: digest }], ...STAMP };
}

async function emptyStore(): Promise<TrustStore> {
  const { path } = await scratchFolder();
  return new TrustStore({ XDG_STATE_HOME: path });
}

test("nothing is trusted by default, and a lookup creates no files", async () => {
  const store = await emptyStore();

  expect(store.isTrusted(skill("/w/a"))).toBe(false);
  expect(store.inside(["/"])).toEqual([]);
  expect(() => readdirSync(store.folder)).toThrow(/ENOENT/);
});

test("trust applies to exactly this content, at this path, as this kind", async () => {
  const store = await emptyStore();
  store.add(skill("/w/a"));

  expect(store.isTrusted(skill("/w/a"))).toBe(true);
  expect(store.isTrusted(skill("/w/a", "d2"))).toBe(false);
  expect(store.isTrusted(skill("/w/b"))).toBe(false);
  expect(store.isTrusted({ ...skill("/w/a"), kind: "configuration" })).toBe(false);
  expect(store.find(skill("/w/a", "d2"))).toEqual(skill("/w/a"));
  expect(statSync(join(store.folder, readdirSync(store.folder)[0] ?? "")).mode & 0o077).toBe(0);
});

test("a configuration is trusted for its roots in any order", async () => {
  const store = await emptyStore();
  const thing: TrustedItem = { ...skill("/w/c"), kind: "configuration", roots: ["/b", "/a"] };
  store.add(thing);

  expect(store.isTrusted({ ...thing, roots: ["/a", "/b"] })).toBe(true);
  expect(store.isTrusted({ ...thing, roots: ["/a"] })).toBe(false);
});

test("trust is revoked for everything in a folder, and for nothing outside of it", async () => {
  const store = await emptyStore();
  for (const path of ["/w/a", "/w/sub/b", "/wide/c"]) store.add(skill(path));

  const found = store.inside(["/w"]);
  for (const thing of found) store.remove(thing);

  expect(found.map(({ path }) => path).sort()).toEqual(["/w/a", "/w/sub/b"]);
  expect(store.inside(["/"]).map(({ path }) => path)).toEqual(["/wide/c"]);
});

// oxfmt-ignore
const DAMAGED = [
  { title: "cut short",          text: '{"kind":"ski' },
  { title: "empty",              text: "" },
  { title: "null",               text: "null" },
  { title: "without a digest",   text: '{"kind":"skill","path":"/w/a","files":[]}' },
  { title: "about another path", text: JSON.stringify(skill("/w/b")) },
  { title: "of odd files",       text: JSON.stringify({ ...skill("/w/a"), files: [null] }) },
];

for (const { title, text } of DAMAGED) {
  test(`a record of trust that is ${title} trusts nothing`, async () => {
    const store = await emptyStore();
    store.add(skill("/w/a"));
    writeFileSync(join(store.folder, readdirSync(store.folder)[0] ?? ""), text);

    expect(store.isTrusted(skill("/w/a"))).toBe(false);
    expect(store.isTrusted(skill("/w/b"))).toBe(false);
  });
}

test("changes are reported file by file", () => {
  const thing = (files: Readonly<Record<string, string>>, digest: string): TrustItem => ({
    kind: "skill",
    path: "/w/a",
    digest,
    files: Object.entries(files).map(([path, sha256]) => ({ path, sha256 })),
  });

  expect(changesSince(thing({ a: "1", b: "1", c: "1" }, "x"), thing({ a: "1", b: "2", d: "1" }, "y"))).toEqual([
    '"b" has changed',
    '"c" is gone',
    '"d" is new',
  ]);
  expect(changesSince(thing({ a: "1" }, "x"), thing({ a: "1" }, "y"))).toEqual([
    "which files are executable has changed",
  ]);
  expect(changesSince(thing({ a: "1" }, "x"), thing({ a: "1" }, "x"))).toEqual([]);
});

test("the trusted texts are stored separately, and apply to exactly that content", async () => {
  const store = await emptyStore();
  store.add(skill("/w/a"), { "SKILL.md": "text" });
  store.add(skill("/w/b"));

  expect(store.textsOf(skill("/w/a"))).toEqual({ "SKILL.md": "text" });
  expect(store.textsOf(skill("/w/a", "d2"))).toEqual({});
  expect(store.textsOf(skill("/w/b"))).toEqual({});
  expect(store.inside(["/w"])).toHaveLength(2);
  for (const name of readdirSync(store.folder)) expect(statSync(join(store.folder, name)).mode & 0o077).toBe(0);

  for (const damage of ["", "{", "null", '{"digest":"d1","texts":[]}', '{"digest":"d1","texts":{"a":1}}']) {
    for (const name of readdirSync(store.folder).filter((each) => each.endsWith(".texts")))
      writeFileSync(join(store.folder, name), damage);
    expect(store.textsOf(skill("/w/a"))).toEqual({});
    expect(store.isTrusted(skill("/w/a"))).toBe(true);
  }
  store.remove(skill("/w/a"));
  store.remove(skill("/w/b"));
  expect(readdirSync(store.folder)).toEqual([]);
});

test("a file that became executable is named, if its earlier state is known", () => {
  const files = (executable?: boolean) => [
    { path: "a.sh", sha256: "1", ...(executable === undefined ? {} : { executable }) },
  ];
  const before = { ...skill("/w/a"), files: files(false) };
  expect(changesSince(before, { ...before, digest: "d2", files: files(true) })).toEqual([
    '"a.sh" has become executable',
  ]);
  expect(changesSince({ ...before, files: files() }, { ...before, digest: "d2", files: files(true) })).toEqual([
    "which files are executable has changed",
  ]);
});
