import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import type { ProfileName } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { makeWorld, recording, startRuntime } from "../../../../test/support/agent-world.ts";
import type { ModelProvider, ModelReply } from "../model/provider.ts";
import { runAgent } from "./loop.ts";
import { chooseTools, compactTool } from "./offered-tools.ts";
import { measureRequest } from "./window/request.ts";

async function start(profile: ProfileName = "guarded"): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const runtime = await createRuntime({ roots: [folder], profile });
  onTestFinished(() => runtime.close());
  return runtime;
}

const none = { found: [], first: [] };
const names = (tools: readonly { readonly name: string }[]): readonly string[] => tools.map(({ name }) => name);

test("under guarded the first request has what most tasks need, in less than 8 KB", async () => {
  const runtime = await start();
  const { offered, deferred } = chooseTools(runtime.tools(), none);
  expect(names(offered)).toEqual([
    "ls",
    "find",
    "grep",
    "read",
    "write",
    "edit",
    "apply_patch",
    "delete_file",
    "bash",
    "display",
    "tool_search",
  ]);
  expect(deferred).toEqual(expect.arrayContaining(["todo", "undo"]));
  for (const protocol of ["native", "plain"] as const) {
    const provider = { name: "test:m", protocol, complete: () => Promise.reject(new Error("not asked")) };
    // A provider's own marks around each tool come on top.
    expect(measureRequest({ provider, runtime }).bytes).toBeLessThanOrEqual(7_500);
  }
});

test("if all tools fit, all are sent and none is deferred", async () => {
  const runtime = await start("readonly");
  const { offered, deferred } = chooseTools(runtime.tools(), none);
  expect(deferred).toEqual([]);
  expect(names(offered)).not.toContain("tool_search");
});

test("found tools are appended, and tools that the host wants first are always offered", async () => {
  const runtime = await start();
  const { offered } = chooseTools(runtime.tools(), { found: ["undo", "nonsense", "ls"], first: ["attach"] });
  expect(names(offered).slice(-3)).toEqual(["attach", "tool_search", "undo"]);
});

test("a compact schema keeps what a model needs to write arguments, whatever the arguments are named", () => {
  const tool = {
    name: "t",
    description: "T.",
    args_schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      title: "Titled",
      properties: {
        title: { type: "string", minLength: 1, description: "A line" },
        default: { type: "integer", minimum: 1, maximum: 9007199254740991, default: 3 },
        pattern: { enum: ["title", "default"], default: "title" },
        items: {
          type: "array",
          maxItems: 3,
          items: {
            type: "object",
            properties: { title: { type: "string", description: "A line" } },
            required: ["title"],
          },
        },
        share: { type: "number", minimum: 0.5, maximum: 2 },
      },
      required: ["title"],
      additionalProperties: false,
    },
  };
  expect(compactTool(tool).args_schema).toEqual({
    type: "object",
    properties: {
      title: { type: "string", description: "A line" },
      default: { type: "integer" },
      pattern: { enum: ["title", "default"] },
      items: {
        type: "array",
        items: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
      },
      share: { type: "number", minimum: 0.5, maximum: 2 },
    },
    required: ["title"],
  });
});

test("a tool that was searched for is offered from then on, and can be called", async () => {
  const calls = [
    { id: "a", name: "tool_search", input: '{"query":"stamp at something"}' },
    { id: "b", name: "stamp", input: '{"mark":"1"}' },
  ];
  const provider: ModelProvider = {
    name: "test:m",
    protocol: "native",
    complete: async ({ rounds }): Promise<ModelReply> => {
      const call = calls[rounds];
      return { kind: "native", text: "done", calls: call === undefined ? [] : [call], finish: "stop" };
    },
  };
  const asked = recording(provider);
  const world = await makeWorld();
  const outcome = await runAgent({
    runtime: await startRuntime(world),
    provider: asked,
    task: { text: "x" },
    limits: { max_turns: 5 },
  });
  expect(outcome).toMatchObject({ outcome: "completed", calls: 2 });
  const offered = asked.requests.map(({ tools }) => names(tools));
  expect(offered[0]).not.toContain("stamp");
  expect(offered[1]).toContain("stamp");
  expect(offered[1]?.slice(0, offered[0]?.length)).toEqual(offered[0]);
  expect(world.effects.get("stamp 1")).toBe(1);
});
