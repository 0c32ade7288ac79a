import * as runtime from "@autonous/runtime";
import * as product from "../packages/autonous/src/index.ts";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../test/support/scratch.ts";
import { libraryPage } from "./library-reference.ts";

const list = (_head: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.map((row) => row.join(" · ")).join("\n");

test("the page of the library has every value that it exports", () => {
  const page = libraryPage(join(import.meta.dirname, "../packages/runtime/src/index.ts"), list);
  const missing = Object.keys(runtime).filter((name) => !new RegExp(`^(?:\`|### )${name}\\b`, "m").test(page));
  expect(missing).toEqual([]);
});

test("the page of the library has every name that the product adds", () => {
  const packages = join(import.meta.dirname, "../packages");
  const page = libraryPage(join(packages, "runtime/src/index.ts"), list, join(packages, "autonous/src/index.ts"));
  const added = page.slice(page.indexOf("## What `autonous` adds"));
  const own = Object.keys(product).filter((name) => !Object.hasOwn(runtime, name));
  expect(own).toContain("createService");
  expect(own.filter((name) => !new RegExp(`^(?:\`|### )${name}\\b`, "m").test(added))).toEqual([]);
});

test("functions, values, types, schemas and names from other files are shown with comments and members", async () => {
  const { path, make } = await scratchFolder();
  await make({
    "index.ts": 'export { add, LIMIT } from "./a.ts";\nexport type { Options, Sent, Base } from "./a.ts";\n',
    "a.ts": `export type { Base } from "./b.ts";
/** Adds (spec 1, Sums). */
export async function add(a: number, { b = 1 }: Options = {}): Promise<number> { return a + b; }
/** The most. */
export const LIMIT = 7;
/** What add takes. */
export interface Options extends Base {
  /** Default: 1. */
  readonly b?: number;
}
/** What is sent. */
const sent = z.strictObject({
  /** An id. */
  id: z.string(), // of 128 characters
}).refine((each) => each.id !== "");
export type Sent = z.infer<typeof sent>;
`,
    "b.ts": "/** One of two. */\nexport type Base = 1 | 2;\n",
  });

  const page = libraryPage(join(path, "index.ts"), list);

  expect(page).toContain("`add(a: number, { b = 1 }: Options = {}): Promise<number>` · Adds.\n");
  expect(page).toContain("`LIMIT` · The most.");
  expect(page).toContain("### Options\n\nWhat add takes.\n\n`extends Base`\n\n`b?: number` · Default: 1.");
  expect(page).toContain("### Sent\n\nWhat is sent.\n\n`id: z.string()` · An id.");
  expect(page).toContain("### Base\n\nOne of two.\n\n`1 | 2`");
});

test("a public name without a comment, or without a declaration, stops the page", async () => {
  const { path, make } = await scratchFolder();
  await make({
    "index.ts": 'export { silent } from "./a.ts";',
    "a.ts": "export const silent = 1;",
    "none.ts": 'export { absent } from "./a.ts";',
  });
  expect(() => libraryPage(join(path, "index.ts"), list)).toThrow("Public names without a comment: silent");
  expect(() => libraryPage(join(path, "none.ts"), list)).toThrow('Cannot find the declaration of "absent"');
});
