import fc from "fast-check";
import { expect, test } from "vitest";
import { resolveToolName } from "./called-name.ts";

const TOOLS = [
  { name: "read", aliases: ["read_file"] },
  { name: "apply_patch" },
  { name: "a.b" },
  { name: "fetchUrl" },
  { name: "fetch_url" },
  { name: "functions.own" },
];

// oxfmt-ignore
const MEANT = [
  ["functions.read", "read"], ["function.read", "read"], ["functions:read", "read"], ["functions.read:0", "read"], ["functions/read", "read"],
  ["default_api:read", "read"], ["default_api.read", "read"], ["tools.read", "read"], ["tool.read", "read"], ["functions.default_api.read", "read"],
  ["read<|channel|>commentary", "read"], ["read<|constrain|>json", "read"], ["read <|message|>", "read"], ["functions.read<|channel|>commentary", "read"], ["read</tool_call>", "read"],
  ["Read", "read"], ["READ", "read"], [" read ", "read"], ["read\n", "read"], ['"read"', "read"], ["`read`", "read"], ["read()", "read"],
  ["functions.read_file", "read_file"], ["Read_File", "read_file"], ["ApplyPatch", "apply_patch"], ["apply-patch", "apply_patch"], ["a_b", "a.b"],
] as const;

for (const [written, name] of MEANT) {
  test(`${JSON.stringify(written)} is the tool "${name}", and the repair is reported`, () => {
    expect(resolveToolName(written, TOOLS)).toEqual({ name, repaired: "tool name" });
  });
}

// oxfmt-ignore
const KEPT = ["read", "read_file", "functions.own", "reed", "readme", "mcp__files__read", "files.read", "FetchUrl", "", "<|x|>", "functions."] as const;

for (const written of KEPT) {
  test(`${JSON.stringify(written)} is left as it is`, () => {
    expect(resolveToolName(written, TOOLS)).toEqual({ name: written });
  });
}

test("a name that remains unknown loses its namespace, so that names like it can be suggested", () => {
  expect(resolveToolName("functions.raed", TOOLS)).toEqual({ name: "raed", repaired: "tool name" });
});

test("an offered name is never changed, and no name makes it throw", () => {
  fc.assert(fc.property(fc.constantFrom(...TOOLS), ({ name }) => resolveToolName(name, TOOLS).repaired === undefined));
  fc.assert(fc.property(fc.string(), (written) => void resolveToolName(written, TOOLS)));
});
