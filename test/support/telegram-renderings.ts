/** Each kind of message that the Telegram channel sends, played on the channel itself: docs/telegram.md shows them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { makeCode } from "../../packages/autonous/src/channels/telegram/access/pairing.ts";
import { greyPng } from "../../emulators/fake-telegram/media/images.ts";
import type { ChatMessage } from "../../emulators/fake-telegram/server.ts";
import { ADA } from "./telegram-channel.ts";
import type { Place } from "./telegram-channel.ts";
import {
  ANSWER,
  answered,
  asked,
  attached,
  CODE,
  COMMAND,
  EDIT,
  EVE,
  maskSeconds,
  question,
  queuedNotice,
  record,
  seen,
  shown,
  TABLE,
  until,
  WIDE,
} from "./telegram-scenes.ts";

interface Rendering {
  /** What it shows, as a part of a sentence. */
  readonly title: string;
  /** Gives what is to be seen of the chat. */
  readonly play: (place: Place) => Promise<readonly ChatMessage[]>;
  /** Replaces what is different each time: ids, times. */
  readonly mask?: (text: string) => string;
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
      place.notifier.notify();
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
      place.notifier.notify();
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
      place.notifier.notify();
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
