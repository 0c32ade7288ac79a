import { expect, test } from "vitest";
import type { ConfigurationFile } from "./load.ts";
import { readModels, settingsForModel } from "./model-table.ts";
import { SETTINGS } from "./settings.ts";
import type { SettingName, Settings } from "./settings.ts";

test("settings are read per model name", () => {
  const models = {
    "anthropic:m": { max_output_tokens: 32_000, thinking: 8000, effort: "high" },
    n: { context_tokens: 16_000, thinking: "off" },
    o: {},
  };
  expect(readModels(models)).toEqual({ models, problems: [] });
});

// oxfmt-ignore
const WRONG = [
  { title: "a list",            models: [],                            says: [/"models" has to be an object/] },
  { title: "a number",          models: { m: 3 },                      says: [/"m" has to be an object/] },
  { title: "another setting",   models: { m: { max_turns: 3 } },       says: [/"m" has "max_turns", which is not a setting of a model \(max_output_tokens, thinking/] },
  { title: "a name of objects", models: { m: { __proto__: null, ["constructor"]: 3 } }, says: [/"constructor", which is not a setting/] },
  { title: "a wrong value",     models: { m: { thinking: "much" } },   says: [/"m": "thinking" has to be one of auto, off, on/] },
  { title: "text for a number", models: { m: { max_output_tokens: "32000" } }, says: [/"max_output_tokens" has to be a whole number/] },
  { title: "several mistakes",  models: { m: { effort: 3, thinking: 0 }, n: [] }, says: [/"effort" has to be one of/, /"thinking" has to be/, /"n" has to be an object/] },
] as const;

for (const { title, models, says } of WRONG) {
  test(`${title}: every problem is listed, and the table is not used`, () => {
    const { models: taken, problems } = readModels(models);
    expect(taken).toEqual({});
    expect(problems).toHaveLength(says.length);
    for (const [index, each] of says.entries()) expect(problems[index]?.problem).toMatch(each);
  });
}

const PROJECT = "/project/.agent/config.json";
const FILES: readonly ConfigurationFile[] = [
  { path: "/home/config.json", owner: "user", trusted: true },
  { path: PROJECT, owner: "project", trusted: false },
];

function given(settings: Partial<Settings>, from: string): Parameters<typeof settingsForModel>[0] {
  const names = Object.keys(SETTINGS) as SettingName[];
  const sources = Object.fromEntries(names.map((name) => [name, from])) as Record<SettingName, string>;
  return { settings: settings as Settings, sources, files: FILES };
}

// oxfmt-ignore
const HOLDS = [
  { title: "nothing set",                          general: {},                                     from: "default",           own: {},                            environment: {},                                   gives: {} },
  { title: "a setting for all",                    general: { effort: "low" },                      from: "/home/config.json", own: {},                            environment: {},                                   gives: { effort: "low" } },
  { title: "the model's own first",                general: { effort: "low", thinking: "on" },      from: "/home/config.json", own: { effort: "high" },            environment: {},                                   gives: { effort: "high", thinking: "on" } },
  { title: "the environment before it",            general: { effort: "low" },                      from: "AUTONOUS_EFFORT",   own: { effort: "high" },            environment: { AUTONOUS_EFFORT: "low" },           gives: { effort: "low" } },
  { title: "a project's smaller number",           general: { max_output_tokens: 500 },             from: PROJECT,             own: { max_output_tokens: 9000 },   environment: {},                                   gives: { max_output_tokens: 500 } },
  { title: "smaller still than a project's",       general: { context_tokens: 9000 },               from: PROJECT,             own: { context_tokens: 5000 },      environment: {},                                   gives: { context_tokens: 5000 } },
] as const;

for (const { title, general, from, own, environment, gives } of HOLDS) {
  test(`the settings in force for a model: ${title}`, () => {
    expect(settingsForModel(given(general, from), own, environment)).toEqual(gives);
  });
}
