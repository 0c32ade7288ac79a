/** Scenes of a chat that are played on the Telegram channel itself, for the pictures in docs/telegram.md. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeId, runPath } from "@autonous/runtime/internal";
import type { ApprovalRequest } from "@autonous/runtime";
import type { EventDraft, EventType } from "@autonous/runtime/internal";
import type { Lease } from "../../packages/autonous/src/store/store.ts";
import type { ChatMessage } from "../../emulators/fake-telegram/server.ts";
import { makeRequest } from "./approval-request.ts";
import { ADA } from "./telegram-channel.ts";
import type { Place } from "./telegram-channel.ts";

const MODEL = "test:model";

/** What the chat holds once the bot has sent this number of messages. */
export async function seen({ telegram }: Place, count: number): Promise<readonly ChatMessage[]> {
  await telegram.until(() => telegram.answers().length >= count, `${count} messages`);
  return telegram.messages();
}

export async function asked(place: Place, text: string): Promise<Lease> {
  await place.open();
  place.telegram.say({ text });
  return await place.claim();
}

export async function answered(place: Place, question: string, answer: string): Promise<readonly ChatMessage[]> {
  await place.open();
  place.telegram.say({ text: question });
  await place.answer(answer, MODEL);
  return await seen(place, 1);
}

/** As the worker records it. */
export async function record(
  { store, notifier }: Place,
  { task }: Lease,
  type: EventType,
  payload: object,
): Promise<void> {
  const { task_id, run_id, trace_id } = task;
  const ids = { event_id: makeId("evt", Date.now()), ts: new Date().toISOString(), parent_id: null };
  const event: EventDraft = { ...ids, type, trace_id, task_id, run_id, payload: { ...payload } };
  await store.journal(run_id).append([event]);
  notifier.notify();
}

export async function shown(
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

export async function attached(
  place: Place,
  name: string,
  content: Buffer,
  caption: string,
): Promise<readonly ChatMessage[]> {
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

export async function question(place: Place, given: Partial<ApprovalRequest>): Promise<ChatMessage> {
  const lease = await asked(place, "clean up");
  const { task_id, run_id, lane, user } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id, chat: lane, user, ...given }));
  place.notifier.notify();
  const message = await place.telegram.until(
    () => place.telegram.answers().find(({ buttons }) => buttons.length > 0),
    "the question",
  );
  await place.until(async () => (await place.store.outbox.receiptOf("apr_1")) !== undefined);
  await place.store.inbox.finish(lease, { outcome: "parked" }); // as the worker does while it waits for the answer
  return message;
}

export const COMMAND: Partial<ApprovalRequest> = {
  params: { cmd: "rm -r build" },
  args_json: JSON.stringify({ cmd: "rm -r build" }),
  reason: "It deletes files",
  commands: [{ command: "rm -r build", folder: "/srv/work", network: false, found: "it deletes" }],
};

export const EDIT: Partial<ApprovalRequest> = {
  tool: "edit",
  params: { path: "src/a.ts", find: "one", replace: "two" },
  reason: "This file is outside of the allowed folders",
  changes: [{ path: "src/a.ts", diff: "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-one\n+two\n", truncated: false }],
  offers: [
    { offer: "path", words: "any `edit` on `src/a.ts`", pattern: { kind: "path", tool: "edit", path: "src/a.ts" } },
  ],
};

export const ANSWER = `## What is left

The build **passes**. Two tests of \`parse_header\` fail:

1. an empty header
   - see [the log](https://ci.example.com/7)
2. ~~a long one~~ fixed

> Expected 3, got 2`;

export const CODE = "Run this:\n\n```sh\nnpm test -- --filter parse_header\n```";
export const TABLE = "| file | lines |\n|---|---:|\n| a.ts | 120 |\n| 文件.ts | 7 |";
export const WIDE =
  "| tool | what it does |\n|---|---|\n| ls | lists the files of a folder, with their sizes |\n| bash | runs a command |";

/** A user without access to the bot, at first. */
export const EVE = { id: 7, first_name: "Eve", username: "eve" };

export async function until(
  { telegram }: Place,
  look: (texts: readonly string[]) => boolean,
  chat = ADA,
): Promise<readonly ChatMessage[]> {
  await telegram.until(() => look(telegram.answers(chat).map(({ text }) => text)), "the message");
  return telegram.messages(chat);
}

/** However long it took. */
export function maskSeconds(text: string): string {
  return text.replaceAll(/^│ (.*?)\b\d+ s\b(.*?) *│$/gm, (line, before: string, after: string) => {
    return `│ ${before}2 s${after}`.padEnd(line.length - 1).concat("│");
  });
}

export async function queuedNotice(place: Place): Promise<readonly ChatMessage[]> {
  const messages = await until(place, (texts) => texts.some((text) => text.startsWith("Queued")));
  return messages.filter(({ text }) => text.startsWith("Queued"));
}
