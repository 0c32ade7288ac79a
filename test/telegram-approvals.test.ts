import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import type { FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { PROGRAM, scratchPlace, startProgram, until, workerOf } from "./support/service.ts";
import type { Place, Served } from "./support/service.ts";
import {
  ADA,
  answersOf,
  BOB,
  eventsOf,
  openTelegram,
  pressed,
  questionIn,
  startBot,
  tasksOf,
} from "./support/telegram.ts";

/** Tasks that wait for a person, answered by buttons. */

const STRANGER = 13;
const GROUP = -100;
const DELETE = "/delete_file a.txt";

function isThere({ root }: Place): boolean {
  return existsSync(join(root, "a.txt"));
}

/** What the message says that had asked, once it asks no more. */
async function closedText(telegram: FakeTelegram, message_id: number, chat = ADA): Promise<string> {
  const isClosed = (): string | undefined => {
    const message = telegram.answers(chat).find((each) => each.message_id === message_id);
    return message?.buttons.length === 0 ? message.text : undefined;
  };
  return await telegram.until(isClosed, "the question to be closed");
}

async function pending(service: Served): Promise<readonly Approval[]> {
  const { approvals } = (await (await service.request("/api/approvals")).json()) as { approvals: readonly Approval[] };
  return approvals;
}

function dataOf(
  { buttons }: { readonly buttons: Awaited<ReturnType<typeof questionIn>>["buttons"] },
  label: string,
): string {
  return buttons.flat().find(({ text }) => text.startsWith(label))?.callback_data ?? "";
}

test.concurrent("a yes by button lets the call run once, and the message says so from then on", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const question = await questionIn(telegram);
  expect(question.text).toMatch(/^The agent wants to delete a\.txt\.[^]*-a/);
  const allow = dataOf(question, "Allow once");
  expect(await pressed(telegram, { message_id: question.message_id, button: "Allow once" })).toMatch(/^Allowed/);
  expect(await closedText(telegram, question.message_id)).toMatch(/Allowed once by Person 42$/);
  const [, done] = await answersOf(telegram, 2);
  expect(done?.text).toContain("Deleted a.txt");
  expect(isThere(place)).toBe(false);
  const events = await eventsOf(service, DELETE);
  expect(events.filter(({ type }) => type === "tool_call.started")).toHaveLength(1);
  expect(events.find(({ type }) => type === "tool_call.completed")?.payload["audit"]).toMatchObject({
    policy: { approved: true, approval_scope: "call", approved_by: "telegram:42" },
  });

  writeFileSync(join(place.root, "a.txt"), "a");
  const replayed = await pressed(telegram, { message_id: question.message_id, data: allow, forged: true });
  expect(replayed).toMatch(/^Too late/);
  telegram.say({ text: DELETE });
  const again = await questionIn(telegram);
  const carried = await pressed(telegram, { message_id: again.message_id, data: allow, forged: true });
  expect(carried).toMatch(/out of date/);
  expect(await pending(service)).toHaveLength(1);
  expect(isThere(place)).toBe(true);
});

test.concurrent("a no by button lets nothing run", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const { message_id } = await questionIn(telegram);
  await pressed(telegram, { message_id, button: "Deny" });
  expect(await closedText(telegram, message_id)).toMatch(/Denied by Person 42$/);
  const events = await eventsOf(service, DELETE);
  expect(events.find(({ type }) => type === "tool_call.failed")?.payload["error"]).toMatchObject({
    code: "ApprovalDenied",
  });
  expect((await answersOf(telegram, 2))[1]?.text).toMatch(/^ApprovalDenied/);
  expect(isThere(place)).toBe(true);
});

test.concurrent("a yes for the chat counts there for the same call again, and in no other chat", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const { message_id } = await questionIn(telegram);
  await pressed(telegram, { message_id, button: "Allow exactly this in this chat" });
  expect(await closedText(telegram, message_id)).toMatch(/Allowed in this chat by Person 42: exactly this call again$/);
  await answersOf(telegram, 2);
  writeFileSync(join(place.root, "a.txt"), "a");
  telegram.say({ text: DELETE });
  expect((await answersOf(telegram, 3))[2]?.text).toContain("Deleted a.txt");
  writeFileSync(join(place.root, "a.txt"), "a");
  telegram.say({ user: BOB, text: DELETE });
  await questionIn(telegram, BOB);
  expect(isThere(place)).toBe(true);
});

test.concurrent("a button counts only for the person who gave the task, in the chat and form in which it was sent", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ user: BOB, text: "/ls ." });
  telegram.say({ chat: GROUP, text: `@fake_bot ${DELETE}` });
  const question = await questionIn(telegram, GROUP);
  const { message_id } = question;
  const allow = dataOf(question, "Allow once");
  const copy = telegram.forward({ chat: GROUP, message_id, to: BOB, user: ADA });
  const own = telegram.forward({ chat: GROUP, message_id, to: ADA, user: ADA });
  const [choice = "", nonce = "", digest = "", id = ""] = allow.split(":");
  const otherDigest = [choice, nonce, digest.replaceAll(/./g, (each) => (each === "0" ? "1" : "0")), id].join(":");

  // oxfmt-ignore
  const presses = [
    { title: "a stranger",            press: { user: STRANGER, chat: GROUP, message_id, data: allow },                          says: /You do not have access to this bot/ },
    { title: "another user",          press: { user: BOB, chat: GROUP, message_id, data: allow },                               says: /Only the person who gave the task/ },
    { title: "a forwarded copy",      press: { user: BOB, chat: BOB, message_id: copy.message_id, data: allow },                says: /works only in the chat it was sent to/ },
    { title: "one's own copy",        press: { user: ADA, chat: ADA, message_id: own.message_id, data: allow },                 says: /works only in the chat it was sent to/ },
    { title: "another message",       press: { user: ADA, chat: GROUP, message_id: message_id - 1, data: allow },               says: /out of date/ },
    { title: "another nonce",         press: { user: ADA, chat: GROUP, message_id, data: allow.replace(nonce, "AAAAAAAA") },     says: /out of date/ },
    { title: "another request's",     press: { user: ADA, chat: GROUP, message_id, data: otherDigest },                         says: /another request/ },
    { title: "no such request",       press: { user: ADA, chat: GROUP, message_id, data: allow.replace(id, "apr_none") },       says: /Request not found/ },
    { title: "no button of ours",     press: { user: ADA, chat: GROUP, message_id, data: "y" },                                 says: /Request not found/ },
  ] as const;
  for (const { title, press, says } of presses)
    expect(await pressed(telegram, { ...press, forged: true }), title).toMatch(says);
  expect(await pending(service)).toHaveLength(1);
  expect(isThere(place)).toBe(true);

  await pressed(telegram, { chat: GROUP, message_id, button: "Allow once" });
  expect(await closedText(telegram, message_id, GROUP)).toMatch(/Allowed once by Person 42$/);
  await until(() => !isThere(place), "the file to go");
});

test.concurrent("a request that is not answered in time counts as denied, and a later press does nothing", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram, { AUTONOUS_APPROVAL_TIMEOUT_SECONDS: "8" });
  telegram.say({ text: DELETE });
  const question = await questionIn(telegram);
  expect(await closedText(telegram, question.message_id)).toMatch(/Expired: no answer in time/);
  const late = await pressed(telegram, {
    message_id: question.message_id,
    data: dataOf(question, "Allow once"),
    forged: true,
  });
  expect(late).toMatch(/^Too late: Expired: no answer in time/);
  const events = await eventsOf(service, DELETE);
  expect(events.find(({ type }) => type === "tool_call.failed")?.payload["error"]).toMatchObject({
    code: "ApprovalExpired",
  });
  expect(isThere(place)).toBe(true);
});

test.concurrent("an answer from the command line closes the question in the chat, and the button comes too late", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const question = await questionIn(telegram);
  const [approval] = await pending(service);
  const id = approval?.request.approval_id ?? "";
  const words = [PROGRAM, "approvals", "deny", id, "--state-dir", place.state_dir, "--reason", "not today"];
  const program = startProgram(place, words, { cwd: place.root });
  expect([(await program.ended).code, program.stderr()]).toEqual([0, expect.any(String)]);
  expect(await closedText(telegram, question.message_id)).toMatch(/Denied by .*\(.*\): not today$/);
  const late = await pressed(telegram, {
    message_id: question.message_id,
    data: dataOf(question, "Allow once"),
    forged: true,
  });
  expect(late).toMatch(/^Too late: Denied/);
  expect((await answersOf(telegram, 2))[1]?.text).toContain("not today");
  expect(isThere(place)).toBe(true);
});

test.concurrent("a question outlives kill -9 of worker and supervisor: its button still counts, once", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place);
  const first = await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const { message_id } = await questionIn(telegram);
  await until(async () => (await tasksOf(first))[0]?.state === "waiting_approval", "the task to be parked");
  process.kill(await workerOf(first), "SIGKILL");
  telegram.say({ user: BOB, text: "/ls ." });
  expect((await answersOf(telegram, 1, BOB))[0]?.text).toBe("a.txt");
  await first.stop("SIGKILL");
  telegram.press({ message_id, button: "Allow once" });
  telegram.say({ text: "/ls ." });

  const second = await startBot(place, telegram);
  expect(await closedText(telegram, message_id)).toMatch(/Allowed once by Person 42$/);
  const said = await answersOf(telegram, 3);
  expect(said.map(({ text }) => text).slice(1)).toEqual([expect.stringContaining("Deleted a.txt"), expect.any(String)]);
  expect(said.filter(({ text }) => text.startsWith("The agent wants to delete a.txt"))).toHaveLength(1);
  const events = await eventsOf(second, DELETE);
  expect(events.filter(({ type }) => type === "tool_call.started")).toHaveLength(1);
});

test.concurrent("a question whose receipt got lost is asked again, and only the newer message counts", async ({
  onTestFinished,
}) => {
  const place = scratchPlace(onTestFinished);
  const telegram = await openTelegram(place, {
    // By its words: on a slow machine the progress message goes out first.
    faults: [{ kind: "reset_after", method: "sendMessage", text: "The agent wants to" }],
  });
  await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const lost = await questionIn(telegram);
  const { message_id } = await questionIn(telegram, ADA, [lost.message_id]);
  expect(await pressed(telegram, { message_id: lost.message_id, button: "Allow once" })).toMatch(/out of date/);
  expect(isThere(place)).toBe(true);
  expect(await pressed(telegram, { message_id, button: "Allow once" })).toMatch(/^Allowed/);
  await until(() => !isThere(place), "the file to go");
});

test.concurrent("what is too long for a question is in a file above it, all of it", async ({ onTestFinished }) => {
  const place = scratchPlace(onTestFinished);
  const lines = Array.from({ length: 200 }, (_, index) => `line ${index} with <b> and *stars* that are only text`);
  writeFileSync(join(place.root, "a.txt"), `${lines.join("\n")}\n`);
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  telegram.say({ text: DELETE });
  const { text, message_id } = await questionIn(telegram);
  expect(text).toMatch(/^The agent wants to delete a\.txt[^]*Truncated: the file above has the full text/);
  const [file] = telegram.answers();
  const whole = file?.document?.content.toString() ?? "";
  for (const line of lines) expect(whole).toContain(`-${line}`);
  expect(await pressed(telegram, { message_id, button: "Allow once" })).toMatch(/^Allowed/);
  await until(() => !isThere(place), "the file to go");
});
