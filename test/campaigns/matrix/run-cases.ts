/** The matrix, case by case: each throws where something is not as it has to be. Used by the tests and by `npm run matrix`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { greyPng } from "../../../emulators/fake-telegram/server.ts";
import { CASES, SECRET } from "./cases.ts";
import type { Case } from "./cases.ts";
import { writeFiles } from "./stage.ts";
import type { CaseRun, MatrixWorld } from "./stage.ts";

export interface MatrixRow {
  readonly tool: string;
  readonly title: string;
  readonly run: (world: MatrixWorld) => Promise<void>;
}

type Payload = RuntimeEvent["payload"];

function payloadOf({ events }: CaseRun, type: RuntimeEvent["type"]): Payload {
  return events.find((event) => event.type === type)?.payload ?? {};
}

/** What the record has to say of the calls of a message. */
function typesFor({ calls = 1, code, refused }: Case): readonly string[] {
  const end = code === undefined ? "tool_call.completed" : "tool_call.failed";
  return Array.from({ length: calls }, () => (refused === true ? [end] : ["tool_call.started", end])).flat();
}

const TASK_EVENTS = ["task.queued", "agent.started", "agent.completed", "task.completed"] as const;

async function runCase(row: Case, name: string, world: MatrixWorld): Promise<void> {
  const { text, files = {}, press, answer, after = {} } = row;
  const folder = join(world.root, name);
  writeFiles(folder, { ".keep": "", ...files });
  rmSync(join(folder, ".keep"));
  const said = text.replaceAll("%", name).replaceAll("$PAGE", world.page);
  const asked = await world.ask(said, press === undefined ? {} : { press });
  assert.match(asked.answer, answer);
  const types = asked.events.map(({ type }) => type);
  assert.deepEqual(
    types.filter((type) => type.startsWith("tool_call.")),
    typesFor(row),
  );
  for (const type of TASK_EVENTS) assert.ok(types.includes(type), `no ${type} on record`);
  checkPayloads(row, asked);
  assert.ok(!JSON.stringify(asked.events).includes(SECRET), "a secret is on record");
  for (const [file, content] of Object.entries(after)) {
    const path = join(folder, file);
    assert.equal(existsSync(path) ? readFileSync(path, "utf8") : null, content, `the content of ${file}`);
  }
}

function checkPayloads({ tool, code, calls = 1, completed = {} }: Case, asked: CaseRun): void {
  if (calls > 0 && code === undefined) {
    const payload = payloadOf(asked, "tool_call.completed");
    const { latency_ms, exit_code, truncated_lines, truncated_bytes } = payload;
    const kinds = [latency_ms, exit_code, truncated_lines, truncated_bytes].map((value) => typeof value);
    assert.deepEqual(kinds, ["number", "number", "boolean", "boolean"]);
    assert.partialDeepStrictEqual(payload, { tool_name: tool, ...completed });
  }
  if (code === undefined) return;
  const payload = payloadOf(asked, "tool_call.failed");
  assert.partialDeepStrictEqual(payload, { tool_name: tool, error: { code }, error_class: ERRORS[code].class });
  assert.equal(typeof payload["redacted"], "boolean");
}

function lastCall({ events }: CaseRun): Pick<RuntimeEvent, "type" | "payload"> {
  const last = events.findLast(({ type }) => type === "tool_call.completed" || type === "tool_call.failed");
  return last ?? assert.fail("no call on record");
}

/** Behind another call: alone, `/undo` is a command of the chat, which undoes tasks. */
function undoCall(args: string): string {
  return `/ls .\n/undo ${args}`;
}

/** What takes more than one message. */
const STORIES: readonly MatrixRow[] = [
  {
    tool: "attach",
    title: "sends the file before it says so",
    async run({ root, ask }) {
      writeFiles(root, { "attached.txt": "content" });
      const { said } = await ask("/attach attached.txt");
      assert.deepEqual(
        said.map(({ document }) => document),
        [{ name: "attached.txt", bytes: 7 }, undefined],
      );
      assert.match(said[1]?.text ?? "", /attached\.txt/);
    },
  },
  {
    tool: "attach",
    title: "sends a picture as a photo",
    async run({ root, ask }) {
      writeFileSync(join(root, "attached.png"), greyPng(40, 30));
      const { said } = await ask("/attach attached.png");
      assert.deepEqual(
        said.map(({ photo }) => photo),
        [true, undefined],
      );
    },
  },
  {
    tool: "receive_file",
    title: "puts a file that a person sends into the inbox folder, where their task reads it",
    async run({ root, ask }) {
      const file = { name: "letter.txt", content: "two\nlines\n" };
      const asked = await ask("/read inbox/letter.txt", { file });
      assert.equal(asked.answer, "two\nlines");
      assert.equal(readFileSync(join(root, "inbox/letter.txt"), "utf8"), file.content);
      const calls = asked.events.filter(({ type }) => type === "tool_call.completed");
      assert.deepEqual(
        calls.map(({ payload }) => payload["tool_name"]),
        ["receive_file", "read"],
      );
    },
  },
  {
    tool: "display",
    title: "is on record as what it showed",
    async run({ ask }) {
      assert.equal(payloadOf(await ask("/display three quarters"), "display")["content"], "three quarters");
    },
  },
  {
    tool: "todo",
    title: "sends the steps as a message of their own",
    async run({ ask }) {
      const { said } = await ask('/todo {"set":["look","change"],"tick":[1]}');
      assert.deepEqual(
        said.map(({ text }) => /Steps/.test(text)),
        [true, false],
      );
      assert.match(said[0]?.text ?? "", /\[x\] 1\. look/);
    },
  },
  {
    tool: "undo",
    title: "reverts a change of an earlier message, and can be reverted itself",
    async run({ root, ask }) {
      writeFiles(root, { "undone.txt": "old" });
      const content = (): string => readFileSync(join(root, "undone.txt"), "utf8");
      const written = await ask('/write {"path":"undone.txt","content":"new"}');
      const undoOf = (asked: CaseRun): string =>
        /"undo_id":"([^"]+)"/.exec(JSON.stringify(lastCall(asked).payload))?.[1] ?? "";
      assert.equal(content(), "new");
      const undone = await ask(undoCall(undoOf(written)), { chat: written.chat });
      assert.equal(content(), "old");
      assert.match(undone.answer, /undone\.txt/);
      await ask(undoCall(undoOf(undone)), { chat: written.chat });
      assert.equal(content(), "new");
    },
  },
  ...(["undo_none", "{}"] as const).map((args) => ({
    tool: "undo",
    title: `fails: with ${args}`,
    async run({ ask }: MatrixWorld) {
      const { type, payload } = lastCall(await ask(undoCall(args)));
      const code = args === "{}" ? "InvalidArguments" : "NotFound";
      assert.partialDeepStrictEqual(
        { type, payload },
        { type: "tool_call.failed", payload: { tool_name: "undo", error: { code } } },
      );
    },
  })),
  {
    tool: "background_output",
    title: "a command in the background is listed, read, and stopped by later messages",
    async run({ ask }) {
      const { answer, chat } = await ask('/bash {"cmd":"echo begun; sleep 600","is_background":true}');
      const id = /bg_\w+/.exec(answer)?.[0] ?? "";
      assert.notEqual(id, "");
      const read = await ask(`/background_output {"background_id":"${id}","wait_seconds":5}`, { chat });
      assert.match(read.answer, /begun/);
      assert.ok((await ask("/background_list {}", { chat })).answer.includes(id));
      const stopped = await ask(`/background_stop ${id}`, { chat });
      assert.equal(payloadOf(stopped, "tool_call.completed")["tool_name"], "background_stop");
      assert.match((await ask(`/background_output ${id}`, { chat })).answer, /stopped|begun/);
    },
  },
  {
    tool: "update_memory",
    title: "what is kept is found, changed and deleted by later messages",
    async run({ ask }) {
      const remember = (args: object): Promise<CaseRun> => ask(`/update_memory ${JSON.stringify(args)}`);
      const kept = await remember({ action: "create", title: "Harbour", knowledge_to_store: "The quay is closed" });
      const id = /mem_\w+/.exec(kept.answer)?.[0] ?? "";
      assert.notEqual(id, "");
      assert.ok((await remember({ action: "search", query: "quay" })).answer.includes(id));
      await remember({ action: "update", existing_knowledge_id: id, knowledge_to_store: "The pier is open" });
      assert.ok((await remember({ action: "search", query: "pier" })).answer.includes(id));
      await remember({ action: "delete", existing_knowledge_id: id });
      assert.ok(!(await remember({ action: "list", limit: 50 })).answer.includes(id));
    },
  },
];

export const MATRIX: readonly MatrixRow[] = [
  ...CASES.map((row, index) => ({
    tool: row.tool,
    title: `${row.code === undefined ? "" : "fails: "}${row.title}`,
    run: (world: MatrixWorld) => runCase(row, `c${index}`, world),
  })),
  ...STORIES,
];
