import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import type { FakeModel } from "../emulators/fake-model/server.ts";
import { scratchFolder } from "./support/scratch.ts";

const run = promisify(execFile);
const folder = join(import.meta.dirname, "../examples");

/** Asks for a file that is there and one that is out of reach, both at once, and then answers. */
async function fakeModel(): Promise<FakeModel> {
  const calls = [
    { name: "read", arguments: { path: "app.ts" } },
    { name: "read", arguments: { path: "../elsewhere/notes.txt" } },
  ];
  const model = await startFakeModel({
    script: { rounds: [{ text: "I look.", calls }, { text: "It listens on 80." }] },
  });
  onTestFinished(() => model.close());
  return model;
}

async function example(name: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { path, make } = await scratchFolder();
  await make({ "work/app.ts": "listen(80); // TODO: read it\n", "elsewhere/notes.txt": "x" });
  const { stdout } = await run(process.execPath, [join(folder, name)], {
    cwd: join(path, "work"),
    env: { ...process.env, XDG_STATE_HOME: join(path, "state"), NODE_OPTIONS: "--conditions=@autonous/source", ...env },
  });
  return stdout.trimEnd().split("\n");
}

/** The results that the last request told the model of. */
function toldIn({ requests }: FakeModel): string {
  return JSON.stringify(requests.at(-1)?.body);
}

interface ExampleRow {
  readonly env?: (model: FakeModel) => Record<string, string>;
  readonly prints: readonly unknown[];
}

// oxfmt-ignore
const EXAMPLES: Readonly<Record<string, ExampleRow>> = {
  "governed-runtime.ts": { prints: ["true app.ts:1:listen(80); // TODO: read it", "false PathTraversalBlocked", "1 tool_call.started", "2 tool_call.completed", "3 tool_call.failed"] },
  "own-tool.ts":         { prints: ["staging release 7 is on staging", expect.stringMatching(/^prod CheckpointDenied: .*prod is frozen/), expect.stringMatching(/^moon InvalidArguments: /)] },
  "own-module.ts":       { prints: ["release 7 is on staging", expect.stringMatching(/^CheckpointDenied: .*prod is frozen/), expect.stringMatching(/^Hint: /)] },
  "approvals.ts":        { prints: ["asked: delete_file delete scratch/old.txt", "scratch/old.txt deleted", "asked: delete_file delete README.md", expect.stringMatching(/^README\.md ApprovalDenied: .*only scratch\/ may be deleted/)] },
  "openai.ts":           { prints: ["It listens on 80."], env: ({ url }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "sk-made-up-for-this" }) },
  "anthropic.ts":        { prints: ["It listens on 80."], env: ({ url }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-made-up-for-this" }) },
  "ai-sdk.ts":           { prints: ["It listens on 80."], env: ({ url }) => ({ MODEL_BASE_URL: `${url}/compatible/v1`, MODEL_API_KEY: "sk-made-up-for-this" }) },
  "service.ts":          { prints: ["task.queued", "task.started", "agent.started", "turn.started", "model.completed", "tool_call.started", "tool_call.completed", "turn.completed", "turn.started", "model.completed", "turn.completed", "agent.completed", "task.completed", "reply.sent", "app.ts"] },
};

for (const [name, { prints, env }] of Object.entries(EXAMPLES)) {
  test(`the example ${name} does what it says`, async () => {
    const model = env === undefined ? undefined : await fakeModel();
    expect(await example(name, model === undefined ? {} : env?.(model))).toEqual(prints);
    if (model === undefined) return;
    expect(model.requests.map(({ status }) => status)).toEqual([200, 200]);
    expect(toldIn(model)).toContain("listen(80);");
    expect(toldIn(model)).toContain("PathTraversalBlocked");
  });
}

test("every example is tried", () => {
  expect(
    readdirSync(folder)
      .filter((file) => file.endsWith(".ts"))
      .sort(),
  ).toEqual(Object.keys(EXAMPLES).sort());
});
