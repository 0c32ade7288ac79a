import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { createRuntime } from "../runtime.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

// oxfmt-ignore
const WRONG: readonly { readonly title: string; readonly options: object; readonly says: RegExp }[] = [
  { title: "a profile that there is not",     options: { profile: "nonsense" },                says: /profile has to be "readonly", "guarded", "autonomous"/ },
  { title: "a profile of an object",          options: { profile: "constructor" },             says: /profile has to be/ },
  { title: "a sandbox that there is not",     options: { sandbox: "require" },                 says: /sandbox has to be "required", "auto", "off"/ },
  { title: "a sandbox that is a switch",      options: { sandbox: false },                     says: /sandbox has to be/ },
  { title: "a name that is none",             options: { profil: "readonly" },                 says: /"profil" is not an option/ },
  { title: "a time of nothing",               options: { timeout_ms: 0 },                      says: /timeout_ms has to be milliseconds/ },
  { title: "a time that is text",             options: { bash_timeout_ms: "60s" },             says: /bash_timeout_ms has to be/ },
  { title: "a time that no timer takes",      options: { approval_timeout_ms: 1e12 },          says: /approval_timeout_ms has to be .*at most 2147483647/ },
  { title: "a time that is not a number",     options: { script_timeout_ms: Number.NaN },      says: /script_timeout_ms has to be/ },
  { title: "a list that is text",             options: { tools: "ls" },                        says: /tools has to be a list of texts/ },
  { title: "an allowlist that is a list",     options: { network: ["example.com"] },           says: /network has to be an object with allow/ },
  { title: "limits of another name",          options: { limits: { max_lines: 5 } },           says: /limits has to be an object with lines, bytes/ },
  { title: "command limits of another name",  options: { command_limits: { cpus: 1 } },        says: /command_limits has to be an object with memory_bytes/ },
  { title: "a handler that is none",          options: { onApproval: true },                   says: /onApproval has to be a function/ },
  { title: "an empty state folder",           options: { state_dir: "" },                      says: /state_dir has to be text that is not empty/ },
  { title: "secrets that are numbers",        options: { known_secrets: [1234] },              says: /known_secrets has to be a list of texts/ },
  { title: "null",                            options: { config: null },                       says: /config has to be an object/ },
  { title: "several at once",                 options: { profile: 1, clock: 2 },               says: /profile has to be .*; clock has to be a function/ },
];

test.each(WRONG)("the start is refused with what is wrong, and nothing is made: $title", async ({ options, says }) => {
  const { path } = await scratchFolder();
  const state_dir = `${path}/state`;
  const starting = createRuntime({ roots: [path], state_dir, ...options });
  await expect(starting).rejects.toMatchObject({ name: "ToolError", code: "InvalidArguments" });
  await expect(starting).rejects.toThrow(says);
  expect(readdirSync(path)).toEqual([]);
});

test.each([undefined, null, "/work", [], {}, { roots: "/work" }, { roots: undefined }, { roots: [1] }])(
  "options without roots are refused in words: %j",
  async (options) => {
    await expect(createRuntime(options as unknown as RuntimeOptions)).rejects.toMatchObject({
      code: "InvalidArguments",
      message: expect.stringMatching(/roots has to be a list of texts|options are not an object/) as unknown,
    });
  },
);

test("an option that is undefined is one that was left out", async () => {
  const { path } = await scratchFolder();
  const options = { roots: [path], profile: undefined, limits: { lines: undefined }, onApproval: undefined };
  const runtime = await createRuntime(options as unknown as RuntimeOptions);
  expect(await runtime.call({ name: "ls", args: {} })).toMatchObject({ ok: true });
  await runtime.close();
});
