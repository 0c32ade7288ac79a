import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findEditor, readArguments } from "./edit-arguments.ts";

// oxfmt-ignore
const WRONG = [
  { text: '{"a": x}',                says: "line 1, column 7" },
  { text: '{"a": 1,}',               says: "line 1, column 9" },
  { text: '{\n  "a": 1\n  "b": 2\n}', says: 'line 3, column 3: unexpected "\\""' },
  { text: '{\n  "a": [1,, 2]\n}',    says: 'line 2, column 11: unexpected ","' },
  { text: '{"a": "x',                says: "line 1, column 9: unexpected end" },
  { text: "",                        says: "line 1, column 1: unexpected end" },
  { text: '{"a": tru3}',             says: "line 1, column 10" },
  { text: "{} {}",                   says: "line 1, column 4" },
  { text: '{"a": "\u001b"}',         says: "line 1, column 8" },
  { text: '{"path": "a",\n "p\\u0061th": "b"}', says: 'Line 2, column 2: duplicate "path"' },
  { text: "[1]",                     says: "a JSON object" },
  { text: "null",                    says: "a JSON object" },
];

for (const { text, says } of WRONG) {
  test(`${JSON.stringify(text)} is invalid, and the error says where`, () => {
    expect(readArguments(text)).toEqual({ problem: expect.stringContaining(says) as string });
  });
}

test("arguments are read unchanged", () => {
  expect(readArguments('{\n "path": "a\\u202eb", "n": [1, null] }\n')).toEqual({
    args: { path: "a\u202eb", n: [1, null] },
  });
});

test("a long text with an error at its end is checked quickly", () => {
  const text = `{"a": "${"x".repeat(2_000_000)}", b}`;
  expect(readArguments(text)).toEqual({ problem: expect.stringContaining("column 2000011") as string });
});

test("the editor is found by where it is, and never in a folder that tools can write to", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "autonous-editor-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ["bin", "root"]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "my-editor"), "");
    chmodSync(join(folder, name, "my-editor"), 0o755);
  }
  const roots = [join(folder, "root")];
  const editor = join(folder, "bin/my-editor");
  const PATH = `.:${folder}/root:${folder}/bin`;
  // oxfmt-ignore
  const cases = [
    { env: { PATH, EDITOR: "my-editor" },                        found: { path: editor, args: [] } },
    { env: { PATH, EDITOR: "my-editor --wait -n" },              found: { path: editor, args: ["--wait", "-n"] } },
    { env: { PATH, VISUAL: editor, EDITOR: "nothing" },          found: { path: editor, args: [] } },
    { env: { PATH, VISUAL: "nothing", EDITOR: "my-editor" },     found: { path: editor, args: [] } },
    { env: { PATH, EDITOR: join(folder, "root/my-editor") },     found: undefined },
    { env: { PATH, EDITOR: "bin/my-editor" },                    found: undefined },
    { env: { PATH: ".", EDITOR: "my-editor" },                   found: undefined },
    { env: { PATH },                                             found: undefined },
    { env: { PATH, EDITOR: "  " },                               found: undefined },
  ];
  for (const { env, found } of cases) expect({ env, found: findEditor(env, roots) }).toEqual({ env, found });
});
