import { appendFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { KeptResults } from "./kept-results.ts";

const resultOf = (tool_call_id: string): ToolCallResult => ({
  tool_call_id,
  ok: true,
  payload: null,
  error: null,
  artifacts: { files_changed: [], commands_run: [] },
  duration_ms: 1,
  redacted: false,
});

test("results are found by call id, also next to a truncated one", async () => {
  const { path } = await scratchFolder();
  const folder = join(path, "runs/run_1");
  mkdirSync(folder, { recursive: true });
  const results = new KeptResults(path, "run_1");
  expect(results.find("a")).toBeUndefined();
  results.keep(resultOf("a"));
  appendFileSync(join(folder, "results.jsonl"), '\n{"tool_call_id":"b","ok":tr');
  results.keep(resultOf("c"));

  const again = new KeptResults(path, "run_1");
  expect(["a", "b", "c"].map((id) => again.find(id)?.tool_call_id)).toEqual(["a", undefined, "c"]);
  expect(again.find("a")).toEqual(resultOf("a"));
  expect(statSync(join(folder, "results.jsonl")).mode & 0o777).toBe(0o600);
});

test("if results cannot be stored, none are found and nothing is thrown", async () => {
  const { path } = await scratchFolder();
  const results = new KeptResults(path, "run_none");
  results.keep(resultOf("a"));
  expect(results.find("a")).toBeUndefined();
});
