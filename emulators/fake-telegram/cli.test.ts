import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "cli.ts");

async function run(words: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...words]);
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

const ASK = `const { AUTONOUS_TELEGRAM_API_ROOT: root, AUTONOUS_TELEGRAM_TOKEN: token, AUTONOUS_TELEGRAM_ALLOWED_USERS: users } = process.env; const r = await fetch(root + "/bot" + token + "/getMe"); console.log(users, JSON.stringify((await r.json()).result.username)); process.exitCode = 3`;

test("a command finds the variables, and its exit code is passed on", async () => {
  const words = ["--user", "7", "--user", "8", "--", process.execPath, "--input-type=module", "-e", ASK];
  expect(await run(words)).toEqual({ code: 3, stdout: '7,8 "fake_bot"\n', stderr: "" });
});

test("--help says how to talk to the bot, and what can go wrong", async () => {
  const { code, stdout } = await run(["--help"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/\/say[^]*\/press[^]*reset_after/);
});

// oxfmt-ignore
const WRONG = [
  { words: ["--fault", "fire"], says: /unknown fault "fire" \(one of rate_limited/ },
  { words: ["--fault", "slow:ms=x"], says: /the ms of a fault is a number/ },
  { words: ["--port", "x"], says: /Cannot use --port "x": it takes a number/ },
  { words: ["--user", "ada"], says: /Cannot use --user "ada": it takes a number/ },
  { words: ["--sing"], says: /--sing/ },
] as const;

for (const { words, says } of WRONG) {
  test(`${words.join(" ")} is refused`, async () => {
    expect(await run(words)).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(says) as string });
  });
}

test("it serves until it gets a signal to stop; a person talks to the bot by hand", async () => {
  const child = spawn(process.execPath, [PROGRAM, "--log"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const logged = text(child.stderr);
  let printed = "";
  await new Promise<void>((resolve) =>
    child.stdout.on("data", (part: Buffer) => {
      printed += part.toString();
      if (printed.includes("FAKE_TELEGRAM_URL")) resolve();
    }),
  );
  const variables = Object.fromEntries(
    Array.from(printed.matchAll(/^export (\w+)=(.*)$/gm), ([, name, value]) => [name, value]),
  );
  expect(variables).toMatchObject({ AUTONOUS_TELEGRAM_ALLOWED_USERS: "42" });
  const url = variables["FAKE_TELEGRAM_URL"] as string;
  const bot = `${variables["AUTONOUS_TELEGRAM_API_ROOT"]}/bot${variables["AUTONOUS_TELEGRAM_TOKEN"]}`;
  const byHand = async (method: string, path: string, body?: string): Promise<string> =>
    await (await fetch(url + path, { method, ...(body === undefined ? {} : { body }) })).text();

  expect(await byHand("POST", "/say", "/ls src")).toBe('{"message_id":1}');
  const keyboard = encodeURIComponent(JSON.stringify({ inline_keyboard: [[{ text: "Yes, do", callback_data: "y" }]] }));
  await fetch(`${bot}/sendMessage?chat_id=42&text=Sure%3F&reply_markup=${keyboard}`);
  expect(await byHand("GET", "/messages")).toBe("#1 42: /ls src\n\n#2 bot: Sure?\n    [Yes, do]\n");
  expect(await byHand("POST", "/press?message=2&button=No")).toContain('there are \\"Yes, do\\"');
  expect(await byHand("POST", "/press?message=2&button=Yes")).toContain("callback_query_id");
  expect(await (await fetch(`${bot}/getUpdates`)).json()).toMatchObject({
    result: [{ message: { text: "/ls src" } }, { callback_query: { data: "y" } }],
  });
  expect(await byHand("POST", "/faults", '{"kind":"blocked","method":"sendMessage"}')).toContain("blocked");
  expect((await fetch(`${bot}/sendMessage?chat_id=42&text=x`)).status).toBe(403);
  expect(await byHand("POST", "/faults", '{"kind":"fire"}')).toContain("unknown fault");
  await byHand("POST", "/outage");
  await expect(fetch(`${bot}/getMe`)).rejects.toThrow();
  await byHand("DELETE", "/outage");
  expect((await fetch(`${bot}/getMe`)).status).toBe(200);
  expect(await byHand("GET", "/nothing")).toContain("Not Found");
  expect(JSON.parse(await byHand("GET", "/messages.json"))).toMatchObject([{ text: "/ls src" }, { text: "Sure?" }]);
  expect((await byHand("GET", "/calls")).split("\n")).toHaveLength(5);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(await logged).toContain('{"method":"sendMessage","chat":42,"status":403,');
  expect(await logged).not.toContain("AAFake");
});
