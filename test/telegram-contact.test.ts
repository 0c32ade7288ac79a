import { expect, test } from "vitest";
import type { Running } from "./support/cli.ts";
import { autonous, start } from "./support/cli.ts";
import { scratchPlace, startService, until } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { ADA, answersOf, openTelegram, startBot, tasksOf, variablesFor } from "./support/telegram.ts";

/** First contact: people come in with a code while the service runs, before it was started, and after it was killed. */

const EVE = { id: 7, first_name: "Eve", username: "eve" };
const NO_ONE_ALLOWED = { AUTONOUS_TELEGRAM_ALLOWED_USERS: "" };

function inPlace({ root, state_dir }: Place): readonly string[] {
  return ["--root", root, "--state-dir", state_dir];
}

function startPairing(place: Place, env: Readonly<Record<string, string>> = {}): Running {
  return start(["telegram", "pair", ...inPlace(place)], { cwd: place.root, env });
}

async function codeOf(pairing: Running): Promise<string> {
  const [line = ""] = await pairing.lines(1);
  return /^Code: (\S+)$/.exec(line)?.[1] ?? "";
}

async function command(place: Place, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return await autonous(["telegram", ...words, ...inPlace(place)], { cwd: place.root, env });
}

test("a person pairs while the service runs, is listed, gives tasks, and is removed, without a restart", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram, NO_ONE_ALLOWED);
  expect(service.stderr()).toContain("No one has access to the bot yet");
  telegram.say({ user: EVE, text: "hi" });
  await until(() => service.stderr().includes('"Eve" (@eve, id 7) wrote to the bot'), "the log to name her");

  const pairing = startPairing(place);
  const code = await codeOf(pairing);
  const lines = await pairing.lines(6);
  expect(lines).toEqual([
    `Code: ${code}`,
    `Link: https://t.me/fake_bot?start=${code}`,
    "Open the link, or send the code to @fake_bot in private.",
    "It works once, for 10 minutes.",
    "Give it only to people who may use this machine through the bot.",
    "Waiting until it is used. Ctrl-C stops waiting; the code stays valid.",
  ]);
  const room = "x".repeat(32 - "fake_bot".length); // the longest name that Telegram gives a bot
  for (const line of lines) expect(line.replace("fake_bot", `fake_bot${room}`).length).toBeLessThanOrEqual(80);
  telegram.say({ user: EVE, text: `/start ${code}` });
  const paired = await pairing.ended;
  expect(paired).toMatchObject({ code: 0, stderr: 'Paired: "Eve" (@eve, id 7)\n' });
  telegram.say({ user: EVE, text: "/ls ." });
  await until(async () => (await tasksOf(service)).length === 1, "the task");
  telegram.say({ user: 8, text: code });
  await telegram.until(() => /already used/.test(telegram.answers(8)[0]?.text ?? ""), "the refusal");

  const listed = await command(place, ["users"]);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^7 +Eve \(@eve\) +allowed +owner/m) });
  expect(await command(place, ["remove", "7"])).toMatchObject({
    code: 0,
    stderr: '"Eve" (@eve, id 7) no longer has access\n',
  });
  telegram.say({ user: EVE, text: "/ls ." });
  await telegram.until(() => telegram.unconfirmed === 0, "all to be read");
  expect(await tasksOf(service)).toHaveLength(1);
  expect((await service.stop()).code).toBe(0);
  const verified = await autonous(["audit", "verify", ...inPlace(place)], { cwd: place.root });
  expect(verified).toMatchObject({ code: 0 });
  const events = await autonous(["events", "tail", ...inPlace(place)], { cwd: place.root });
  expect(events.stdout).toMatch(/access\.granted +telegram:7 "Eve" · by \S+ \(code\)/);
  expect(events.stdout).toMatch(/access\.revoked +telegram:7 "Eve" · by \S+ \(command line\)/);
});

test("a code made before the first start works after it, also where the service is killed in between", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const made = await command(place, ["pair", "--no-wait", "--json"], { ...variablesFor(telegram), ...NO_ONE_ALLOWED });
  expect(made.code, made.stderr).toBe(0);
  const { code, link } = JSON.parse(made.stdout) as { readonly code: string; readonly link: string };
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("No service runs on the state folder") });
  expect(link).toBe(`https://t.me/fake_bot?start=${code}`);
  telegram.say({ user: EVE, text: code });
  telegram.fault({ kind: "server_error", method: "sendMessage", times: 20 });
  const first = await startBot(place, telegram, NO_ONE_ALLOWED);
  await telegram.until(() => telegram.calls.some(({ method }) => method === "sendMessage"), "the welcome to be sent");
  await first.stop("SIGKILL");
  telegram.fault({ kind: "twice", times: 3 });
  const second = await startBot(place, telegram, NO_ONE_ALLOWED);
  telegram.say({ user: EVE, text: "/ls ." });
  await until(async () => (await tasksOf(second)).length === 1, "the task");
  expect((await command(place, ["users"])).stdout).toMatch(/^7 +Eve/m);
});

test("wrong codes do not let in, and end a code; the command that waits says so", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  const pairing = startPairing(place);
  const code = await codeOf(pairing);
  for (let user = 100; user < 120; user++) telegram.say({ user, text: "AAAA-BBBB-CCCC" });
  expect(await pairing.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^The code is void/) });
  telegram.say({ user: 9, text: code });
  await telegram.until(() => telegram.unconfirmed === 0, "all to be read");
  const listed = await command(place, ["users", "--json"], variablesFor(telegram));
  const users = JSON.parse(listed.stdout) as readonly { readonly user: number; readonly state: string }[];
  expect(users.filter(({ state }) => state === "allowed").map(({ user }) => user)).toEqual([ADA, 7]);
});

// oxfmt-ignore
const WRONG = [
  { words: ["pair", "--wait"],           code: 2, says: /Unknown option "--wait"; did you mean --no-wait/ },
  { words: ["remove"],                   code: 2, says: /id/ },
  { words: ["remove", "@eve"],           code: 2, says: /Invalid Telegram id "@eve"/ },
  { words: ["remove", "9"],              code: 2, says: /No person with the id 9/ },
  { words: ["remove", "42"],             code: 2, says: /42 is in AUTONOUS_TELEGRAM_ALLOWED_USERS: remove it there/ },
  { words: ["webhook"],                  code: 2, says: /AUTONOUS_TELEGRAM_TOKEN is not set/ },
  { words: ["webhook"],                  code: 1, says: /Cannot read or delete the webhook: Telegram rejected the token/, token: "123456:wrong" },
  { words: ["user"],                     code: 2, says: /did you mean users/ },
] as const;

for (const { words, code, says, ...given } of WRONG) {
  test(`telegram ${words.join(" ")} fails with ${code} and says why`, async () => {
    const place = scratchPlace();
    const telegram = "token" in given ? variablesFor(await openTelegram(place)) : {};
    const token = "token" in given ? { AUTONOUS_TELEGRAM_TOKEN: given.token } : {};
    const ended = await command(place, words, { ...telegram, ...token, AUTONOUS_TELEGRAM_ALLOWED_USERS: "42" });
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(says) });
  });
}

test("without a token and a service, a code is made without a link, and Ctrl-C leaves it open", async () => {
  const place = scratchPlace();
  expect(await command(place, ["users"])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`No one has access yet (state folder "${place.state_dir}")`),
  });
  const pairing = startPairing(place);
  await codeOf(pairing);
  const [, second = ""] = await pairing.lines(2);
  expect(second).toBe("Send it to the bot in a private chat.");
  pairing.child.kill("SIGINT");
  expect((await pairing.ended).code).toBe(130);
});

test("a webhook is reported and kept until it is deleted on purpose; then messages come in", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const env = variablesFor(telegram);
  const hook = "https://hooks.example.org/secret-path";
  await fetch(`${telegram.url}/bot${telegram.token}/setWebhook?url=${encodeURIComponent(hook)}`);
  const check = await autonous(["serve", "--check", ...inPlace(place)], { cwd: place.root, env });
  expect(check.stdout + check.stderr).toMatch(/telegram .*@fake_bot: a webhook sends .* to hooks\.example\.org/);
  const service = await startService(place, { environment: env });
  await until(() => service.stderr().includes("to hooks.example.org. Remove it there"), "the log to say so");
  expect(service.stderr()).not.toContain("secret-path");
  expect(telegram.calls.some(({ method }) => method === "deleteWebhook")).toBe(false);
  expect(await command(place, ["webhook"], env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("hooks.example.org"),
  });
  telegram.say({ text: "/ls ." });
  expect(await command(place, ["webhook", "--delete"], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Deleted/),
  });
  await answersOf(telegram, 1);
  expect(service.stderr()).toContain("Polling recovered");
});
