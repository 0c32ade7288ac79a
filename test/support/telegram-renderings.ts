/** Each kind of message that the Telegram channel sends, played on the channel itself: docs/telegram.md shows them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRuntime, makeId, runPath } from "@autonous/runtime";
import type { ApprovalRequest, EventDraft, EventType } from "@autonous/runtime";
import { makeCode } from "../../packages/autonous/src/channels/telegram/access/pairing.ts";
import type { Lease } from "../../packages/autonous/src/store/store.ts";
import { greyPng } from "../../tools/fake-telegram/media/images.ts";
import type { ChatMessage } from "../../tools/fake-telegram/server.ts";
import { makeRequest } from "./approval-request.ts";
import { ADA } from "./telegram-channel.ts";
import type { Place } from "./telegram-channel.ts";

interface Rendering {
  /** What it shows, as a part of a sentence. */
  readonly title: string;
  /** Gives what is to be seen of the chat. */
  readonly play: (place: Place) => Promise<readonly ChatMessage[]>;
  /** Replaces what is different each time: ids, times. */
  readonly mask?: (text: string) => string;
}

const MODEL = "test:model";

/** What the chat holds once so many messages of the bot are there. */
async function seen({ telegram }: Place, count: number): Promise<readonly ChatMessage[]> {
  await telegram.until(() => telegram.answers().length >= count, `${count} messages`);
  return telegram.messages();
}

async function asked(place: Place, text: string): Promise<Lease> {
  await place.open();
  place.telegram.say({ text });
  return await place.claim();
}

async function answered(place: Place, question: string, answer: string): Promise<readonly ChatMessage[]> {
  await place.open();
  place.telegram.say({ text: question });
  await place.answer(answer, MODEL);
  return await seen(place, 1);
}

/** As the worker records it. */
async function record({ store, bell }: Place, { task }: Lease, type: EventType, payload: object): Promise<void> {
  const { task_id, run_id, trace_id } = task;
  const ids = { event_id: makeId("evt", Date.now()), ts: new Date().toISOString(), parent_id: null };
  const event: EventDraft = { ...ids, type, trace_id, task_id, run_id, payload: { ...payload } };
  await store.journal(run_id).append([event]);
  bell.ring();
}

async function shown(
  place: Place,
  levels: readonly (readonly [string, string, string])[],
): Promise<readonly ChatMessage[]> {
  const lease = await asked(place, "check the build");
  for (const [index, [level, title, content]] of levels.entries()) {
    await record(place, lease, "display", { tool_call_id: `call_${index}`, level, title, content });
    await seen(place, index + 1);
  }
  return place.telegram.messages();
}

async function attached(place: Place, name: string, content: Buffer, caption: string): Promise<readonly ChatMessage[]> {
  const lease = await asked(place, "send it to me");
  const { run_id } = lease.task;
  const path = join(runPath(place.state_dir, run_id), "artifacts", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const file = { artifact: `artifacts/${name}`, name, media_type: "", bytes: content.length, sha256: "", caption };
  await record(place, lease, "tool_call.completed", {
    tool_call_id: "call_1",
    tool_name: "send_file",
    attachments: [file],
  });
  return await seen(place, 1);
}

async function question(place: Place, given: Partial<ApprovalRequest>): Promise<ChatMessage> {
  const lease = await asked(place, "clean up");
  const { task_id, run_id, lane, user } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user, ...given }));
  place.bell.ring();
  const message = await place.telegram.until(
    () => place.telegram.answers().find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  await place.store.inbox.finish(lease, { outcome: "parked" }); // as the worker does while it waits for the answer
  return message;
}

const COMMAND: Partial<ApprovalRequest> = {
  params: { cmd: "rm -r build" },
  args_json: JSON.stringify({ cmd: "rm -r build" }),
  reason: "It deletes files",
  commands: [{ command: "rm -r build", folder: "/srv/work", network: false, found: "it deletes" }],
};

const EDIT: Partial<ApprovalRequest> = {
  tool: "edit",
  params: { path: "src/a.ts", find: "one", replace: "two" },
  reason: "This file is outside of the allowed folders",
  changes: [{ path: "src/a.ts", diff: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-one\n+two\n", truncated: false }],
  offers: [
    { offer: "path", words: "any `edit` on `src/a.ts`", pattern: { kind: "path", tool: "edit", path: "src/a.ts" } },
  ],
};

const ANSWER = `## What is left

The build **passes**. Two tests of \`parse_header\` fail:

1. an empty header
   - see [the log](https://ci.example.com/7)
2. ~~a long one~~ fixed

> Expected 3, got 2`;

const CODE = "Run this:\n\n```sh\nnpm test -- --filter parse_header\n```";
const TABLE = "| file | lines |\n|---|---:|\n| a.ts | 120 |\n| 文件.ts | 7 |";
const WIDE =
  "| tool | what it does |\n|---|---|\n| ls | lists the files of a folder, with their sizes |\n| bash | runs a command |";

/** Somebody who may not use the bot, at first. */
const EVE = { id: 7, first_name: "Eve", username: "eve" };

async function until(
  { telegram }: Place,
  look: (texts: readonly string[]) => boolean,
  chat = ADA,
): Promise<readonly ChatMessage[]> {
  await telegram.until(() => look(telegram.answers(chat).map(({ text }) => text)), "the message");
  return telegram.messages(chat);
}

/** However long it took. */
function maskSeconds(text: string): string {
  return text.replaceAll(/^│ (.*?)\b\d+ s\b(.*?) *│$/gm, (line, before: string, after: string) => {
    return `│ ${before}2 s${after}`.padEnd(line.length - 1).concat("│");
  });
}

async function queuedNotice(place: Place): Promise<readonly ChatMessage[]> {
  const messages = await until(place, (texts) => texts.some((text) => text.startsWith("Queued")));
  return messages.filter(({ text }) => text.startsWith("Queued"));
}

export const CASES: readonly Rendering[] = [
  { title: "an answer in Markdown", play: (place) => answered(place, "what is left to do?", ANSWER) },
  { title: "code", play: (place) => answered(place, "how do I test it?", CODE) },
  { title: "a table", play: (place) => answered(place, "how long are they?", TABLE) },
  { title: "a table that is too wide for a phone", play: (place) => answered(place, "what can you do?", WIDE) },
  {
    title: "what the task shows while it runs, by level",
    play: (place) =>
      shown(place, [
        ["info", "", "half of the **files** are read"],
        ["progress", "Tests", "12 of 40"],
        ["success", "Build", "`dist/` is up to date"],
        ["warning", "Disk", "90 % full"],
        ["error", "Deploy", "refused by the server"],
      ]),
  },
  {
    title: "how far a task is, removed at its end",
    async play(place) {
      const lease = await asked(place, "run the tests");
      await record(place, lease, "task.started", {});
      await record(place, lease, "turn.started", { turn: 1 });
      const call = { tool_call_id: "call_1", tool_name: "bash", arguments: { cmd: "npm test" } };
      await record(place, lease, "tool_call.started", call);
      return await until(place, (texts) => texts.some((text) => text.includes("npm test")));
    },
    mask: maskSeconds,
  },
  { title: "a file", play: (place) => attached(place, "report.csv", Buffer.from("a,b\n"), "The **numbers** of May") },
  { title: "a picture", play: (place) => attached(place, "plan.png", greyPng(40, 30), "The plan") },
  {
    title: "a question about a command",
    async play(place) {
      await question(place, COMMAND);
      return place.telegram.messages();
    },
  },
  {
    title: "a question about a change",
    async play(place) {
      await question(place, EDIT);
      return place.telegram.messages();
    },
  },
  {
    title: "a question that was answered",
    async play(place) {
      const { message_id } = await question(place, COMMAND);
      place.telegram.press({ message_id, button: "Allow once" });
      await place.telegram.until(() => place.telegram.answers()[0]?.buttons.length === 0, "the outcome");
      return place.telegram.messages();
    },
  },
  {
    title: "an answer that was not delivered",
    async play(place) {
      await place.open();
      place.telegram.say({ text: "what is left?" });
      const lease = await place.claim();
      place.telegram.block(ADA);
      await place.store.inbox.finish(lease, { outcome: "done", reply: "Two tests." });
      place.bell.ring();
      await place.until(
        async () => (await place.store.outbox.givenUp({ channel: "telegram", chat: `telegram:${ADA}` })).length === 1,
      );
      place.telegram.unblock(ADA);
      place.telegram.say({ text: "/status" });
      await seen(place, 2);
      place.telegram.say({ text: "/resend" });
      const messages = await seen(place, 4);
      const isAnswer = ({ text }: ChatMessage): number => Number(text === "Two tests.");
      return messages.toSorted((one, other) => isAnswer(one) - isAnswer(other)); // either may be first
    },
  },
  {
    title: "an answer that is too long for messages",
    play: (place) => answered(place, "list everything", "a line of a long answer\n".repeat(4000)),
    mask: (text) =>
      text.replaceAll(/(│ a line of a long answer +│\n){3,}/g, "$1│ …                                          │\n"),
  },
  {
    title: "a task that failed",
    async play(place) {
      const lease = await asked(place, "deploy it");
      const error = "Cannot reach the model: the key was refused (401)";
      await place.store.inbox.finish(lease, { outcome: "failed", error, reply: error });
      place.bell.ring();
      return await seen(place, 1);
    },
  },
  {
    title: "a call that was denied with a reason",
    async play(place) {
      const { message_id } = await question(place, COMMAND);
      place.telegram.say({ text: "not before the release", reply_to: message_id });
      await until(place, (texts) => texts.some((text) => text.includes("gets your reason")));
      await place.telegram.until(() => place.telegram.answers()[0]?.buttons.length === 0, "the outcome");
      return place.telegram.messages();
    },
  },
  {
    title: "words behind a running task",
    async play(place) {
      await asked(place, "run the tests");
      place.telegram.say({ text: "and then deploy" });
      return await queuedNotice(place);
    },
  },
  {
    title: "words behind a question",
    async play(place) {
      await question(place, COMMAND);
      place.telegram.say({ text: "what does it delete?" });
      return await queuedNotice(place);
    },
  },
  {
    title: "`/status` while a task runs",
    async play(place) {
      const lease = await asked(place, "run the tests");
      await record(place, lease, "tool_call.started", {
        tool_call_id: "call_1",
        tool_name: "bash",
        arguments: { cmd: "npm test" },
      });
      place.telegram.say({ text: "/status" });
      const messages = await until(place, (texts) => texts.some((text) => text.includes("run the tests")));
      return messages.slice(-2);
    },
    mask: (text) => maskSeconds(text).replaceAll(/\b[0-9a-z]{6} ·/g, "7k2m9x ·"),
  },
  {
    title: "what `/undo` would change",
    async play(place) {
      const root = mkdtempSync(join(tmpdir(), "autonous-undo-"));
      writeFileSync(join(root, "notes.txt"), "one\n");
      place.telegram.say({ text: "write the notes" });
      const runtime = await createRuntime({ roots: [root], state_dir: `${root}-state` });
      await place.open({ readChanges: (work) => work((options) => runtime.changes(options)) });
      const lease = await place.claim();
      const { run_id } = lease.task;
      await runtime.call({ name: "write", args: { path: "notes.txt", content: "one\ntwo\n" }, run_id });
      await place.store.inbox.finish(lease, { outcome: "done", reply: "Done." });
      place.bell.ring();
      await seen(place, 1);
      place.telegram.say({ text: "/undo" });
      const messages = await until(place, (texts) => texts.some((text) => text.startsWith("Undo task")));
      await runtime.close();
      rmSync(root, { recursive: true });
      rmSync(`${root}-state`, { recursive: true });
      return messages.slice(2);
    },
    mask: (text) => text.replaceAll(/Undo task \w{6}/g, "Undo task 7k2m9x"),
  },
  {
    title: "`/new`",
    async play(place) {
      await place.open();
      place.telegram.say({ text: "/new" });
      return await seen(place, 1);
    },
  },
  {
    title: "what the bot does not read",
    async play(place) {
      await place.open();
      place.telegram.say({ content: { dice: { emoji: "🎲", value: 3 } } });
      return await seen(place, 1);
    },
  },
  {
    title: "messages that came while the service was down",
    async play(place) {
      for (let i = 1; i <= 3; i++) place.telegram.say({ text: `message ${i}` });
      await place.open({ pending_max_messages: 1 });
      return await seen(place, 1);
    },
  },
  {
    title: "a stranger, to the owner",
    async play(place) {
      place.telegram.say({ text: "/status" });
      await place.open();
      await seen(place, 1);
      place.telegram.say({ user: EVE, text: "hello" });
      const messages = await until(place, (texts) => texts.some((text) => text.includes("Let them in?")));
      return messages.slice(2);
    },
  },
  {
    title: "a stranger with a pairing code",
    async play(place) {
      await place.open({ allowed_users: [] });
      place.telegram.say({ user: EVE, text: "hello" });
      await until(place, (texts) => texts.length === 1, EVE.id);
      const { code } = await makeCode(place.store, { by: "me", now: Date.now() });
      place.telegram.say({ user: EVE, text: code });
      return await until(place, (texts) => texts.length === 2, EVE.id);
    },
    mask: (text) => text.replaceAll(/\b\w{4}-\w{4}-\w{4}\b/g, "K7QM-3XTD-9WFP"),
  },
  {
    title: "`/help`",
    async play(place) {
      await place.open();
      place.telegram.say({ text: "/help" });
      return await seen(place, 1);
    },
  },
];
