import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../test/support/scratch.ts";

const PROGRAM = join(import.meta.dirname, "cli.ts");

async function run(
  words: readonly string[],
  cwd = process.cwd(),
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { cwd });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

const ASK = `const r = await fetch(process.env.FAKE_MODEL_URL + "/v1/chat/completions", { method: "POST", headers: { authorization: "Bearer k" }, body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] }) }); const b = await r.json(); console.log(r.status, b.error === undefined ? JSON.stringify(b.choices[0].message.content ?? b.choices[0].message.tool_calls[0].function) : b.error.message); process.exitCode = 3`;
const COMMAND = ["--", process.execPath, "--input-type=module", "-e", ASK];

// oxfmt-ignore
const RUNS = [
  { title: "without options it repeats the last message", words: [], stdout: '200 "hello"\n' },
  { title: "a loop of reads asks for a file", words: ["--behaviour", "read-loop", "--path", "a.ts", "--reads", "2"], stdout: '200 {"name":"read","arguments":"{\\"path\\":\\"a.ts\\",\\"offset\\":1}"}\n' },
  { title: "a script is said", words: ["--script", "script.json"], stdout: '200 "from the script"\n' },
  { title: "a fault befalls", words: ["--fault", "rate_limited:round=1,retry_after_s=1"], stdout: "429 Rate limit reached for requests. Please try again later.\n" },
  { title: "a quirk befalls every request", words: ["--quirk", "error_string"], stdout: /^400 undefined/ },
  { title: "a key is wrong", words: ["--key", "another"], stdout: /^401 Incorrect API key provided: \*\./ },
  { title: "a model is not there", words: ["--model", "another"], stdout: /^404 The model `m` does not exist/ },
  { title: "chaos befalls all", words: ["--chaos", "1", "--seed", "3"], stdout: /./ },
] as const;

for (const { title, words, stdout } of RUNS) {
  test(`${title}; the command's exit code is passed on`, async () => {
    const { path } = await scratchFolder();
    writeFileSync(join(path, "script.json"), JSON.stringify({ rounds: [{ text: "from the script" }] }));
    const ended = await run([...words, ...COMMAND], path);
    if (title !== "chaos befalls all")
      expect(ended).toEqual({
        code: 3,
        stdout: typeof stdout === "string" ? stdout : expect.stringMatching(stdout),
        stderr: "",
      });
    else expect(ended.code).not.toBe(2);
  });
}

// oxfmt-ignore
const WRONG = [
  { words: ["--behaviour", "sing"], says: /Cannot use --behaviour "sing": expected one of echo, read-loop/ },
  { words: ["--fault", "fire"], says: /Unknown fault or quirk "fire"/ },
  { words: ["--fault", "reset:round=x"], says: /Cannot use the faults/ },
  { words: ["--quirk", "hiccups"], says: /Unknown fault or quirk "hiccups"/ },
  { words: ["--vendor", "acme"], says: /Cannot use --vendor "acme": expected one of anthropic, openai/ },
  { words: ["--port", "x"], says: /Cannot use --port "x": expected a number/ },
  { words: ["--script", "none.json"], says: /none\.json/ },
  { words: ["--sing"], says: /--sing/ },
] as const;

for (const { words, says } of WRONG) {
  test(`${words.join(" ")} is refused`, async () => {
    expect(await run(words)).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(says) });
  });
}

test("the vendors and the quirks are listed", async () => {
  const { code, stdout } = await run(["--list"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {2}deepseek +DeepSeek +openai-chat, anthropic/m);
  expect(stdout).toMatch(/^ {2}text_call_hermes +a call as text: Qwen and Hermes/m);
});

test("a vendor's address is given to the command, and printed", async () => {
  const print = ["--", process.execPath, "-e", "console.log(process.env.FAKE_MODEL_URL)"];
  expect(await run(["--vendor", "kimi", ...print])).toMatchObject({ stdout: expect.stringMatching(/\d\/kimi\n$/) });
});

test("it serves until it gets a signal to stop, and logs without keys", async () => {
  const child = spawn(process.execPath, [PROGRAM, "--log"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const logged = text(child.stderr);
  const url = await new Promise<string>((resolve) =>
    child.stdout.once("data", (line: Buffer) => resolve(line.toString().trim())),
  );
  const body = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] });
  const response = await fetch(`${url}/v1beta/models/gemini:generateContent?key=secret-key`, { method: "POST", body });
  expect(response.status).toBe(200);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(JSON.parse(await logged)).toMatchObject({
    format: "gemini",
    model: "gemini",
    round: 1,
    status: 200,
    fault: null,
  });
  expect(await logged).not.toContain("secret-key");
});
