import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { findMentions } from "./mentions.ts";

// oxfmt-ignore
const CASES: readonly { readonly text: string; readonly found: readonly string[] }[] = [
  { text: "see @a.txt",                              found: ["file a.txt"] },
  { text: "@a.txt",                                  found: ["file a.txt"] },
  { text: "(@a.txt), @src/b.ts; then '@src/b.ts'.",  found: ["file a.txt", "file src/b.ts"] },
  { text: "what is @a.txt?",                         found: ["file a.txt"] },
  { text: "line\n@src/b.ts: why",                    found: ["file src/b.ts"] },
  { text: '@"my notes.md" and @"no such.md"',        found: ["file my notes.md", "missing no such.md"] },
  { text: "@./a.txt",                                found: ["file ./a.txt"] },
  { text: "@Makefile",                               found: ["file Makefile"] },
  { text: "@odd.name.",                              found: ["file odd.name."] },
  { text: "@src/",                                   found: ["folder src/"] },
  { text: "@src",                                    found: [] },
  { text: "@loop",                                   found: ["file loop"] },
  { text: "mail ada@example.com or a.b@c.org",       found: [] },
  { text: "npm i @types/node @scope/a.txt @ai-sdk/provider", found: [] },
  { text: "use @decorator, @param and @app.route",   found: [] },
  { text: "ask @ada and @",                          found: [] },
  { text: "@@a.txt",                                 found: [] },
  { text: "x@a.txt",                                 found: [] },
  { text: "@missing.md @src/missing.ts @/no/where",  found: ["missing missing.md", "missing src/missing.ts", "missing /no/where"] },
  { text: "@../gone.txt @deep/er/path",              found: ["missing ../gone.txt", "missing deep/er/path"] },
  { text: "@v1.2.3 @1.5",                            found: [] },
  { text: `@${"x".repeat(5000)}`,                    found: [] },
];

test("mentioned files are distinguished from addresses, packages and people", async () => {
  const { path, make } = await scratchFolder();
  await make({ "a.txt": "", "src/b.ts": "", "my notes.md": "", Makefile: "", "odd.name.": "" });
  symlinkSync("loop", join(path, "loop"));
  for (const { text, found } of CASES) {
    const mentions = findMentions(text, path).map(({ kind, path: at }) => `${kind} ${at}`);
    expect({ text: text.slice(0, 80), mentions }).toEqual({ text: text.slice(0, 80), mentions: found });
  }
});
