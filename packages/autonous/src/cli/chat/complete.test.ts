import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";
import { complete } from "./complete.ts";

const COMMANDS = ["/clear", "/compact", "/cost", "/help"];

async function world() {
  const { runtime, path, make } = await scratch({ config: { rules: [{ effect: "deny", path: "private/**" }] } });
  const cwd = join(path, "root");
  await make({
    "root/.gitignore": "dist/\n*.log\n",
    "root/.git/HEAD": "ref: refs/heads/main\n",
    "root/README.md": "",
    "root/.ssh/id_rsa": "",
    "root/.eslintrc": "",
    "root/src/app.ts": "",
    "root/src/cli/chat.ts": "",
    "root/src/cli/chart.ts": "",
    "root/dist/app.js": "",
    "root/a.log": "",
    "root/private/key.txt": "",
    "root/my notes/to do.md": "",
    "outside.txt": "",
  });
  const place = { roots: [cwd], cwd };
  return {
    cwd,
    events: async () => await Array.fromAsync(runtime.events()),
    offers: async (line: string) => await complete(line, { commands: COMMANDS, place, runtime }),
  };
}

// oxfmt-ignore
const CASES: readonly { readonly line: string; readonly found: readonly string[]; readonly word?: string }[] = [
  { line: "/c",                      found: ["/clear", "/compact", "/cost"] },
  { line: "/",                       found: COMMANDS },
  { line: "/clear now /c",           found: [], word: "" },
  { line: " /c",                     found: [], word: "" },
  { line: "look at @R",              found: ["@README.md"], word: "@R" },
  { line: "look at @",               found: ["@.eslintrc", "@.gitignore", "@README.md", '@"my notes/', "@src/"], word: "@" },
  { line: "@src/",                   found: ["@src/app.ts", "@src/cli/"] },
  { line: "@src/cli/ch",             found: ["@src/cli/chart.ts", "@src/cli/chat.ts"] },
  { line: "(@src/a",                 found: ["@src/app.ts"], word: "@src/a" },
  { line: "@chat",                   found: ["@src/cli/chat.ts"] },
  { line: "@CHA",                    found: ["@src/cli/chart.ts", "@src/cli/chat.ts"] },
  { line: '@"my notes/t',            found: ['@"my notes/to do.md"'] },
  { line: "@.e",                     found: ["@.eslintrc"] },
  { line: "@di",                     found: [] },
  { line: "@dist/",                  found: ["@dist/app.js"] }, // an ignored folder that is named is searched, as by find
  { line: "@a.l",                    found: [] },
  { line: "@private/",               found: [] },
  { line: "@../",                    found: [] },
  { line: "@/etc/pass",              found: [] },
  { line: "@nowhere/x",              found: [] },
  { line: "ada@exam",                found: [], word: "" },
  { line: "nothing to complete",     found: [], word: "" },
];

test("Tab offers commands, and files that git does not ignore and the policy does not deny", async () => {
  const { offers, events } = await world();
  for (const { line, found, word = line } of CASES)
    expect({ line, offered: await offers(line) }).toEqual({ line, offered: [found, word] });
  expect(await events()).toEqual([]);
});

test("names that could act on a terminal are not offered, and a large folder is bounded", async () => {
  const { offers, cwd } = await world();
  mkdirSync(join(cwd, "many"));
  for (let at = 0; at < 300; at++) writeFileSync(join(cwd, `many/f${at}`), "");
  writeFileSync(join(cwd, "many/g\u001b[31m"), "");
  writeFileSync(join(cwd, "many/g\n"), "");
  expect((await offers("@many/"))[0]).toHaveLength(50);
  expect((await offers("@many/g"))[0]).toEqual([]);
});
