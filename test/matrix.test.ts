/** `npm run matrix`, against a Bot API that is not its own: what a nightly run with a real token does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startFakeTelegram } from "../emulators/fake-telegram/server.ts";
import type { FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { FLAGS } from "./support/service.ts";

const PROGRAM = join(import.meta.dirname, "campaigns/matrix.ts");
const ADA = 42;

async function matrix(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onText: (text: string) => void = () => undefined,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [...FLAGS, PROGRAM, ...words], {
    env: { ...process.env, NODE_OPTIONS: "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdout.on("data", (piece: Buffer) => onText(piece.toString()));
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: await stdout, stderr: await stderr };
}

async function openApi(): Promise<{ telegram: FakeTelegram; environment: Record<string, string> }> {
  const telegram = await startFakeTelegram();
  onTestFinished(() => telegram.close());
  telegram.say({ user: ADA, text: "/start" }); // as everyone who is written to has
  const environment = {
    AUTONOUS_TELEGRAM_API_ROOT: `${telegram.url}/`,
    AUTONOUS_TELEGRAM_TOKEN: telegram.token,
    AUTONOUS_TELEGRAM_ALLOWED_USERS: `${ADA}, 7`,
    AUTONOUS_PROFILE: "readonly", // of the user who starts it: not the profile under test
  };
  return { telegram, environment };
}

test("the matrix runs with any Bot API and token, tool by tool, and takes none of the bot's updates", async () => {
  const { telegram, environment } = await openApi();
  const tools = ["background_list", "delete_file", "receive_file"].flatMap((tool) => ["--tool", tool]);
  const { code, stdout, stderr } = await matrix(tools, environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^background_list +ok +[\d.]+ s {2}tells that there is none$/m);
  expect(stdout).toMatch(/^delete_file +ok +[\d.]+ s {2}deletes when a person agrees$/m);
  expect(stdout).toMatch(/^receive_file +ok +[\d.]+ s {2}puts a file that a person sends into the inbox folder/m);
  expect(stdout).toMatch(/\n5 passed, 0 failed\n$/);
  expect(stdout + stderr).not.toContain(telegram.token);
  // What the bot said went through that API, and what a person had sent to the bot is still there for it.
  expect(telegram.answers(ADA).map((each) => each.text)).toContain("Nothing found");
  const methods = new Set(telegram.calls.map(({ method }) => method));
  for (const method of ["getUpdates", "deleteWebhook", "answerCallbackQuery"]) expect(methods).not.toContain(method);
  expect(telegram.unconfirmed).toBe(1);
});

test("in manual mode the user is told what to send, and the bot gets it from the API", async () => {
  const { telegram, environment } = await openApi();
  const person = (printed: string): void => {
    const [, asked] = /Send to the bot:\n(.+)\n/.exec(printed) ?? [];
    if (asked !== undefined) telegram.say({ user: ADA, text: asked });
  };
  const { code, stdout } = await matrix(["--by-hand", "--tool", "background_list"], environment, person);
  expect(stdout).toMatch(/\n1 passed, 0 failed\n$/);
  expect(code).toBe(0);
  expect(telegram.calls.map(({ method }) => method)).toContain("getUpdates");
});

test("a Bot API that rejects messages fails the cases, and the reasons are printed", async () => {
  const { telegram, environment } = await openApi();
  telegram.fault({ kind: "blocked", method: "sendMessage", times: "always" });
  const { code, stdout } = await matrix(["--tool", "background_list", "--seconds", "5"], environment);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^background_list +FAILED/m);
  expect(stdout).toMatch(/the Bot API rejected sendMessage: 403 /);
  expect(stdout).toMatch(/\n0 passed, 1 failed\n$/);
  expect(stdout).not.toContain(telegram.token);
});

test("an invalid setup is reported at once, without the token", async () => {
  const { telegram, environment } = await openApi();
  const wrong = `${telegram.token.slice(0, -3)}xyz`;
  // oxfmt-ignore
  const cases = [
    { words: [],                     more: { AUTONOUS_TELEGRAM_TOKEN: wrong },            says: /rejects the token: Unauthorized/ },
    { words: ["--chat", "99"],       more: {},                                            says: /cannot write to chat 99 .*\/start/ },
    { words: ["--chat", "Ada"],      more: {},                                            says: /--chat to a user id/ },
    { words: [],                     more: { AUTONOUS_TELEGRAM_ALLOWED_USERS: "" },       says: /AUTONOUS_TELEGRAM_ALLOWED_USERS/ },
    { words: [],                     more: { AUTONOUS_TELEGRAM_TOKEN: "" },               says: /AUTONOUS_TELEGRAM_TOKEN is not/ },
    { words: [],                     more: { AUTONOUS_TELEGRAM_API_ROOT: "http://127.0.0.1:9" }, says: /cannot be reached/ },
    { words: ["--tool", "lss"],      more: {},                                            says: /No case for lss; available: ls, find/ },
    { words: ["--seconds", "soon"],  more: {},                                            says: /--seconds "soon"/ },
    { words: ["--sing"],             more: {},                                            says: /--sing/ },
  ];
  for (const { words, more, says } of cases) {
    const { code, stdout, stderr } = await matrix(words, { ...environment, ...more });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).not.toContain(telegram.token.slice(-12, -3));
  }
});
