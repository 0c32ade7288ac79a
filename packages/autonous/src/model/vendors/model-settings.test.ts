import { expect, test } from "vitest";
import { findByModel } from "./model-settings.ts";

// oxfmt-ignore
const FOUND = [
  { model: "anthropic:claude-x",             table: { "anthropic:claude-x": 1, "claude-x": 2 }, is: 1 },
  { model: "anthropic:claude-x",             table: { "claude-x": 2 },                          is: 2 },
  { model: "compatible:qwen3:8b@http://h/v1", table: { "qwen3:8b": 3 },                         is: 3 },
  { model: "compatible:q@HTTPS://h/v1",      table: { "q": 3 },                                 is: 3 },
  { model: "compatible:@cf/m@3@https://h",   table: { "@cf/m@3": 4 },                           is: 4 },
  { model: "anthropic:claude-x",             table: { "claude": 5 },                            is: undefined },
  { model: "toString",                       table: {},                                         is: undefined },
] as const;

test.each(FOUND)("$model in $table is $is", ({ model, table, is }) => {
  expect(findByModel<number>(table, model)).toBe(is);
});
