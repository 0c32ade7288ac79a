/** Several models in one setting, and what is paid for attempts that fail: as people run them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import type { FakeModel, FakeModelOptions } from "../emulators/fake-model/server.ts";
import { autonous, start } from "./support/cli.ts";
import type { Ended } from "./support/cli.ts";
import { linesOf } from "./support/json-lines.ts";
import type { Line } from "./support/json-lines.ts";
import { scratchFolder } from "./support/scratch.ts";
import { scratchPlace, startService } from "./support/service.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";

const atTerminal = test.skipIf(!hasTerminal);

async function workspace(): Promise<string> {
  const folder = await scratchFolder();
  await folder.make({ "work/a.txt": "old\n" });
  return join(folder.path, "work");
}

async function fake(options: FakeModelOptions): Promise<FakeModel & { readonly setting: string }> {
  const model = await startFakeModel({ key: null, ...options });
  onTestFinished(() => model.close());
  return Object.assign(model, { setting: `compatible:spare@${model.url}/compatible/v1` });
}

/** A server whose account is empty, as DeepSeek says it. */
async function withoutCredit(): Promise<{ readonly setting: string; readonly count: () => number }> {
  let count = 0;
  const server = createServer((_request, response) => {
    count += 1;
    response
      .writeHead(402, { "content-type": "application/json" })
      .end('{"error":{"message":"Insufficient Balance","type":"unknown_error"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { setting: `compatible:empty@http://127.0.0.1:${port}/v1`, count: () => count };
}

const short = ({ setting }: { readonly setting: string }): string => setting.replace(/http:\/\/([^/]*).*/, "$1");

const LOOKS = { rounds: [{ calls: [{ name: "ls", arguments: {} }] }, { text: "One file." }], repeat: true };

test("a run falls back to the next model of the list, reports it, and stays with it", async () => {
  const cwd = await workspace();
  const [empty, spare] = await Promise.all([withoutCredit(), fake({ script: LOOKS })]);
  const env = { AUTONOUS_MODEL: `${empty.setting}, ${spare.setting}` };

  const seen = await autonous(["run", "look"], { cwd, env });
  expect(seen).toMatchObject({ code: 0, stdout: "One file.\n" });
  expect(seen.stderr.replaceAll(/\s+/g, " ")).toContain(
    `Falling back to ${short(spare)}: ${short(empty)} is out of credit (402 Insufficient Balance)`,
  );
  expect([empty.count(), spare.requests.length]).toEqual([1, 2]);

  const told = linesOf(await autonous(["run", "look", "--json"], { cwd, env }));
  expect(told.filter(({ type }) => type === "model.switched").map(({ payload }) => payload)).toMatchObject([
    { from: empty.setting, to: spare.setting, reason: "quota" },
  ]);
  expect(told.at(-1)).toMatchObject({ ok: true, outcome: "completed", model: spare.setting });

  const run_id = String(told.at(-1)?.["run_id"]);
  const tree = await autonous(["events", "tree", run_id], { cwd });
  expect(tree.stdout).toMatch(/model\.switched Falling back to compatible:spare@.*is out of credit/);
  expect(await autonous(["audit", "verify"], { cwd })).toMatchObject({ code: 0 });
});

test("a list is checked when the program starts, and doctor shows each model of it", async () => {
  const cwd = await workspace();
  const spare = "compatible:qwen3@http://127.0.0.1:8000/v1";
  const keyless = { AUTONOUS_MODEL: `${spare}, openai:gpt-6-sol`, OPENAI_API_KEY: "" };
  const refused = await autonous(["run", "look"], { cwd, env: keyless });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr.replaceAll(/\s+/g, " ")).toMatch(
    /model 2 of 2, "openai:gpt-6-sol": .*no API key is set; set OPENAI_API_KEY/,
  );
  const failed = await autonous(["doctor", "--json"], { cwd, env: keyless });
  expect(checkOf(failed)).toMatchObject({ outcome: "failed", message: /set OPENAI_API_KEY/ });

  const env = { ...keyless, OPENAI_API_KEY: "sk-test-0123456789" };
  expect(checkOf(await autonous(["doctor", "--json"], { cwd, env }))).toMatchObject({
    outcome: "ok",
    message: /^compatible:qwen3@\S+; cost unknown.*; fallback: openai:gpt-6-sol; list price/,
  });
});

function checkOf(doctor: Ended): unknown {
  const { checks } = JSON.parse(doctor.stdout) as { readonly checks: readonly { readonly check: string }[] };
  return checks.find(({ check }) => check === "model");
}

test("a run that is killed before a retry keeps the bill of the failed attempt", async () => {
  const cwd = await workspace();
  const model = await fake({ script: LOOKS, faults: [{ kind: "cut_after_content", round: 1 }] });
  const env = { ANTHROPIC_BASE_URL: `${model.url}/anthropic`, ANTHROPIC_API_KEY: "sk-ant-test" };
  const words = ["run", "--model", "anthropic:claude-sonnet-5-5"];
  const { child, lines, ended } = start([...words, "look", "--json"], { cwd, env });
  child.stdin.end();
  const before = (await lines(3)).map((line) => JSON.parse(line) as Line & { readonly run_id: string });
  child.kill("SIGKILL");
  await ended;
  expect(before.map(({ type }) => type)).toEqual(["agent.started", "turn.started", "model.billed"]);
  expect(model.requests).toHaveLength(1);

  const resumed = linesOf(await autonous([...words, "--resume", before[0]?.run_id ?? "", "--json"], { cwd, env }));
  const { input_tokens } = model.billed;
  expect(resumed.at(-1)).toMatchObject({ ok: true, answer: "One file.", usage: { input_tokens } });
  expect(model.requests).toHaveLength(3);
  const { usage } = resumed.at(-1) as { readonly usage: { readonly cost: number } };
  const { stdout } = await autonous(["sessions", "--json"], { cwd });
  expect(stdout).toContain(`"cost":${usage.cost}`);
});

test("a run that was killed after it fell back resumes with the model in use", async () => {
  const cwd = await workspace();
  const [empty, spare] = await Promise.all([withoutCredit(), fake({ script: LOOKS, faults: [{ kind: "hang" }] })]);
  const words = ["run", "--model", `${empty.setting},${spare.setting}`];
  const { child, lines, ended } = start([...words, "look", "--json"], { cwd });
  child.stdin.end();
  const before = (await lines(3)).map((line) => JSON.parse(line) as Line & { readonly run_id: string });
  await expect.poll(() => spare.requests.length).toBe(1);
  child.kill("SIGKILL");
  await ended;
  expect(before.at(-1)).toMatchObject({ type: "model.switched", payload: { to: spare.setting } });
  const resumed = linesOf(await autonous([...words, "--resume", before[0]?.run_id ?? "", "--json"], { cwd }));
  expect(resumed.at(-1)).toMatchObject({ ok: true, answer: "One file.", model: spare.setting });
  expect([empty.count(), spare.requests.length]).toEqual([1, 3]);
});

test("retries do not cost more than --max-cost", async () => {
  const cwd = await workspace();
  const usage = { input_tokens: 3000, output_tokens: 10 };
  const script = { rounds: [{ text: "Never seen.", usage }], repeat: true };
  const model = await fake({ script, faults: [{ kind: "cut_after_content", times: "always" }] });
  const env = { ANTHROPIC_BASE_URL: `${model.url}/anthropic`, ANTHROPIC_API_KEY: "sk-ant-test" };
  // 3000 tokens of input cost 0.6 cents.
  const words = ["run", "--model", "anthropic:claude-sonnet-5-5", "--max-cost", "0.01", "look", "--json"];
  const ended = await autonous(words, { cwd, env });
  expect(ended.code).toBe(1);
  expect(linesOf(ended).at(-1)).toMatchObject({
    outcome: "failed",
    error: { code: "LimitReached", message: /max_cost_cents .* is 1, and 0\.6 are used; .* about 0\.6 more/ },
    usage: { input_tokens: 3000, cost: expect.closeTo(0.006, 3) },
  });
  expect(model.requests).toHaveLength(1);
});

atTerminal(`a chat shows that it falls back, and which model answered${needsTerminal}`, async () => {
  const cwd = await workspace();
  const [empty, spare] = await Promise.all([withoutCredit(), fake({ script: { rounds: [{ text: "Hello." }] } })]);
  const env = { NO_COLOR: "1", AUTONOUS_MODEL: "direct" };
  const terminal = openTerminal("autonous chat", { cwd, env });
  await terminal.sees("\u001b[0J> ");
  terminal.type(`/model ${empty.setting}, ${spare.setting}\r`);
  await terminal.sees(/fallback:\s+compatible:spare@/);
  terminal.type("hi\r");
  await terminal.sees(/Falling back to\s+compatible:spare@/);
  await terminal.sees("spare | guarded |");
  terminal.type("/exit\r");
  const { code, output } = await terminal.ended;
  expect(code).toBe(0);
  expect(plain(output)).toContain("Hello.");
});

test("the service falls back for each task, on record for its channels", async () => {
  const place = scratchPlace();
  const [empty, spare] = await Promise.all([withoutCredit(), fake({ script: LOOKS })]);
  const service = await startService(place, { environment: { AUTONOUS_MODEL: `${empty.setting}, ${spare.setting}` } });
  const { events, reply } = await service.ask({ text: "look" });
  expect(reply).toMatchObject({ state: "done", text: "One file." });
  expect(events.find(({ type }) => type === "model.switched")?.payload).toMatchObject({
    from: empty.setting,
    to: spare.setting,
    reason: "quota",
  });
  const again = await service.ask({ text: "look" });
  expect(again.reply).toMatchObject({ state: "done" });
  expect(empty.count()).toBe(2); // a new task begins with the first model
  const task = await service.request(`/api/tasks/${reply?.task_id}`);
  expect(JSON.stringify(await task.json())).toContain(
    `Falling back to ${short(spare)}: ${short(empty)} is out of credit`,
  );
  expect((await service.stop()).code).toBe(0);
});
