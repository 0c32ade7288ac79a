import { expect, test } from "vitest";
import { findLaterPlace } from "./check-path.ts";
import { isAtPlace, isCacheName } from "./cache-folders.ts";

test.each([".cache", ".vite", ".vite-temp", ".vitest", ".tmp", ".Cache", ".a", ".astro"])("%s is a cache", (name) => {
  expect(isCacheName(name)).toBe(true);
});

// oxfmt-ignore
test.each([
  "", ".", "..", "...", "..cache", ". ", "zod", "@scope", "cache", ".bin", ".BIN", ".bin.", ".b\u200cin", "BIN~1", ".hooks", ".pnpm", ".Pnpm ",
  ".store", ".deno", ".bun", ".staging", ".ignored", ".ignored_zod", ".git", "a.git", ".x.git", ".package-lock.json", ".modules.yaml",
  ".yarn-state.yml", ".index.js", ".x.cjs", ".x.node", "\u200b.cache",
])("%j is not a cache", (name) => {
  expect(isCacheName(name)).toBe(false);
});

const MODULES = { path: "/w/node_modules", why: "this program runs it", is_program: true, is_packages: true } as const;

const PLACES = [
  { title: "the folder of packages", path: "/w/node_modules", at: true },
  { title: "a package", path: "/w/node_modules/zod/index.js", at: true },
  { title: "a package that is not there", path: "/w/node_modules/new", at: true },
  { title: "a cache", path: "/w/node_modules/.cache", at: false },
  { title: "a file in a cache", path: "/w/node_modules/.cache/zod/index.js", at: false },
  { title: "a cache, in another case", path: "/W/NODE_MODULES/.CACHE/x", at: false },
  { title: "a store of packages", path: "/w/node_modules/.pnpm/zod@4/node_modules/zod/index.js", at: true },
  { title: "a cache among what a package depends on", path: "/w/node_modules/zod/node_modules/.cache/x", at: true },
  { title: "a name that begins like it", path: "/w/node_modules.cache/x", at: false },
  { title: "a place of its own in a cache", path: "/w/node_modules/.odd/zod/index.js", at: true },
] as const;

test.each(PLACES)("in a folder of packages that is loaded, $title runs later: $at", ({ path, at }) => {
  const odd = { ...MODULES, path: "/w/node_modules/.odd" };
  const found = findLaterPlace(path, { roots: ["/w", "/W"], git_places: [MODULES, odd] });
  expect(found !== undefined).toBe(at);
});

test("only a folder that packages are imported from, and that is called node_modules, has caches", () => {
  expect(isAtPlace("/w/node_modules/.cache/x", { ...MODULES, is_packages: undefined as never })).toBe(true);
  expect(isAtPlace("/w/linked/.cache/x", { ...MODULES, path: "/w/linked" })).toBe(true);
  expect(isAtPlace("/w/linked", { ...MODULES, path: "/w/linked" })).toBe(true);
});
