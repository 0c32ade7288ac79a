import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../test/support/scratch.ts";
import { findViolations } from "./check-architecture.ts";

// oxfmt-ignore
const PLANTED = [
  { title: "a tool that opens files itself",       file: "runtime/src/tools/bad.ts",    text: 'import { readFileSync } from "node:fs";',                          says: /"tools" may not import "node:fs"/ },
  { title: "a tool that imports the gate",           file: "runtime/src/tools/bad.ts",    text: 'import { runGate } from "../gate/gate.ts";',                       says: /"tools" may not import "gate"/ },
  { title: "a type from above",                    file: "runtime/src/policy/bad.ts",   text: 'import type { ToolFiles } from "../machine/files/files.ts";',      says: /"policy" may not import "machine"/ },
  { title: "a late import of the network",         file: "runtime/src/output/bad.ts",   text: 'export const f = () => import("node:net");',                       says: /"output" may not import "node:net"/ },
  { title: "an import of the package's own index", file: "runtime/src/gate/bad.ts",     text: 'export { createRuntime } from "../runtime.ts";',                   says: /"gate" may not import "\(src root\)"/ },
  { title: "a folder without a rule",              file: "autonous/src/utils/bad.ts",   text: "export const x = 1;",                                              says: /"utils" has no rule/ },
  { title: "the product in the library",           file: "runtime/src/journal/bad.ts",  text: 'import "hono";',                                                   says: /"journal" may not import "hono"/ },
  { title: "a room that imports one above it",       file: "autonous/src/store/record/bad.ts", text: 'import { inbox } from "../queue/inbox.ts";',                  says: /"record" may not import "queue", which is above it/ },
  { title: "a room that imports its assembling file",     file: "autonous/src/store/queue/bad.ts",  text: 'import { openStore } from "../open-store.ts";',               says: /"queue" may not import "open-store.ts"/ },
  { title: "a room without a position in the order",               file: "autonous/src/channels/fax/bad.ts", text: 'import { a } from "../words/a.ts";',                         says: /"fax" has no place in the order/ },
  { title: "a room of the machine that imports one above it", file: "runtime/src/machine/files/bad.ts", text: 'import { run } from "../sandbox/sandbox.ts";',        says: /"files" may not import "sandbox", which is above it/ },
  { title: "a room of the machine without a position in the order", file: "runtime/src/machine/gpu/bad.ts", text: 'import { a } from "../system/a.ts";',                  says: /"gpu" has no place in the order/ },
  { title: "a room of the machine that imports its assembling file", file: "runtime/src/machine/git/bad.ts", text: 'import { a } from "../machine.ts";',         says: /"git" may not import "machine.ts"/ },
  { title: "a channel that imports one above it", file: "autonous/src/channels/http/bad.ts", text: 'import { a } from "../telegram/send.ts";',           says: /"http" may not import "telegram", which is above it/ },
  { title: "a late import of a room above",        file: "autonous/src/channels/words/bad.ts", text: 'export const f = () => import("../terminal/a.ts");', says: /"words" may not import "terminal", which is above it/ },
  { title: "a service that imports the command line", file: "autonous/src/service/bad.ts", text: 'import { table } from "../cli/output/table.ts";',            says: /"service" may not import "cli"/ },
  { title: "a file that is too long",              file: "runtime/src/gate/bad.ts",     text: "// line\n".repeat(301),                                            says: /301 lines, at most 300/ },
] as const;

for (const { title, file, text, says } of PLANTED) {
  test(`${title} is found`, async () => {
    const { path } = await scratchFolder();
    for (const each of ["runtime/src", "autonous/src", dirname(file)]) mkdirSync(join(path, each), { recursive: true });
    writeFileSync(join(path, file), text);
    const { problems } = findViolations(path);
    expect(problems).toEqual([expect.stringMatching(says)]);
  });
}

test("a file with the name of another file of its package is found, one of the other package is not", async () => {
  const { path } = await scratchFolder();
  const files = ["runtime/src/gate/lines.ts", "runtime/src/text/lines.ts", "autonous/src/queue/lines.ts"];
  for (const file of files) {
    mkdirSync(join(path, dirname(file)), { recursive: true });
    writeFileSync(join(path, file), "export const x = 1;");
  }
  const { problems } = findViolations(path);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^runtime\/(?:gate|text)\/lines\.ts: "(?:gate|text)\/lines\.ts" has the same name$/);
});

test("imports that go down are accepted", async () => {
  const { path } = await scratchFolder();
  for (const each of ["runtime/src/gate", "autonous/src"]) mkdirSync(join(path, each), { recursive: true });
  writeFileSync(
    join(path, "runtime/src/gate/fine.ts"),
    'import { decide } from "../policy/decide.ts";\nimport { join } from "node:path";\n',
  );
  expect(findViolations(path)).toEqual({ problems: [], files: 1 });
});
