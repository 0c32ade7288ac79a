/** Secrets go in by files, names, words and the environment; every byte that comes out, and of what is stored, is looked at. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import { scratchPlace, startService, until } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { answersOf, openTelegram, questionIn, startBot } from "./support/telegram.ts";

/** Put together, so that none stands in this file. */
function joined(...parts: readonly string[]): string {
  return parts.join("");
}

const KNOWN = "plain-looking known value 7";
const TOKEN = joined("gh", "p_", "Zq9W".repeat(9));
const NAMED = joined("gh", "p_", "Yx8V".repeat(9));
const PASSWORD = "hunterZq9Wx";
const KEY_LINE = "aB3dE5fG7hJ9kL1m".repeat(4);
const KEY_TAIL = joined(KEY_LINE, "\n", KEY_LINE.slice(0, 20), "==\n-----END PRIV", "ATE KEY-----\n");
const SECRETS = [KNOWN, TOKEN, NAMED, PASSWORD, KEY_LINE, KEY_LINE.slice(0, 20)];
const NOTES = `known: ${KNOWN}\ntoken ${TOKEN}***REDACTED***\nDB_PASSWORD=${PASSWORD}\n${KEY_TAIL}`;
const ENVIRONMENT = { DEPLOY_TOKEN: KNOWN };

function fill(root: string): void {
  writeFileSync(join(root, "notes.txt"), NOTES);
  writeFileSync(join(root, `${NAMED}.txt`), "named\n");
}

function hasNoSecret(bytes: string, where: string): void {
  for (const secret of SECRETS) if (bytes.includes(secret)) expect(`${secret} in ${where}`).toBe("");
}

/** The contents of all files below a folder. A file that the running service renames or removes meanwhile is skipped. */
function storedIn(folder: string): string {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return files.flatMap((file) => contentOf(file) ?? []).join("\n");
}

function contentOf(file: string): string | undefined {
  try {
    return `${file}\n${readFileSync(file, "latin1")}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

test("the terminal shows and stores no secret", { timeout: 120_000 }, async () => {
  const { path, make } = await scratchFolder();
  await make({ "ws/": "", "home/": "" });
  const cwd = join(path, "ws");
  fill(cwd);
  const env = { ...ENVIRONMENT, HOME: join(path, "home"), XDG_STATE_HOME: join(path, "state") };
  const cmd = `echo sshpass -p ${PASSWORD} host; cat notes.txt; ls`;
  // oxfmt-ignore
  const door: readonly { readonly words: readonly string[]; readonly code: number; readonly says: RegExp }[] = [
    { words: ["call", "read", '{"path":"notes.txt"}'],                                       code: 0, says: /REDACTED/ },
    { words: ["call", "ls", "{}"],                                                           code: 0, says: /REDACTED/ },
    { words: ["call", "grep", '{"pattern":"."}'],                                            code: 0, says: /REDACTED/ },
    { words: ["call", "find", '{"name_pattern":"*"}'],                                       code: 0, says: /REDACTED/ },
    { words: ["call", "bash", JSON.stringify({ cmd })],                                      code: 0, says: /REDACTED/ },
    { words: ["call", "delete_file", JSON.stringify({ path: `${NAMED}.txt` })],              code: 4, says: /approve/ },
    { words: ["call", "delete_file", '{"path":"notes.txt"}'],                                code: 4, says: /approve/ },
    { words: ["run", "/read notes.txt"],                                                     code: 0, says: /REDACTED/ },
    { words: ["run", "/ls ."],                                                               code: 0, says: /REDACTED/ },
    { words: ["approvals", "list"],                                                          code: 0, says: /delete_file/ },
    { words: ["approvals", "list", "--json"],                                                code: 0, says: /REDACTED/ },
    { words: ["policy", "explain", "bash", JSON.stringify({ cmd })],                         code: 0, says: /allow|ALLOW/ },
    { words: ["policy", "explain", "read", JSON.stringify({ path: `${NAMED}.txt` })],        code: 0, says: /allow|ALLOW/ },
    { words: ["events", "tail", "--json"],                                                   code: 0, says: /REDACTED/ },
    { words: ["audit", "export"],                                                            code: 0, says: /REDACTED/ },
  ];
  for (const { words, code, says } of door) {
    const ended = await autonous(words, { cwd, env });
    const said = ended.stdout + ended.stderr;
    hasNoSecret(said, words.slice(0, 2).join(" "));
    expect({ words, code: ended.code, said }).toEqual({ words, code, said: expect.stringMatching(says) as string });
  }
  const chat = await autonous(["chat"], { cwd, env, input: "/read notes.txt\n/ls .\n" });
  expect(chat.stdout).toContain("***REDACTED***");
  hasNoSecret(chat.stdout + chat.stderr, "chat");
  hasNoSecret(storedIn(stateOf(cwd, env)), "the state folder");
  hasNoSecret(storedIn(join(path, "state")), "the user's state");
});

async function place(): Promise<Place> {
  const made = scratchPlace();
  fill(made.root);
  return await Promise.resolve(made);
}

test("HTTP gives and stores no secret", { timeout: 120_000 }, async () => {
  const where = await place();
  const service = await startService(where, { environment: ENVIRONMENT });
  for (const text of ["/read notes.txt", "/ls .", "/grep ."]) {
    const told = await service.ask({ text, chat: "one" });
    expect(told.reply?.text).toContain("***REDACTED***");
    hasNoSecret(JSON.stringify(told), text);
  }
  const { task_id } = await service.post({ text: "/delete_file notes.txt", chat: "two" });
  const get = async (url: string): Promise<string> => await (await service.request(url)).text();
  await until(async () => (await get("/api/approvals")).includes("delete_file"), "the task to ask");
  for (const url of ["/api/approvals", `/api/tasks/${task_id}`, "/api/tasks", "/api/grants"]) {
    hasNoSecret(await get(url), url);
  }
  hasNoSecret(storedIn(where.state_dir), "the state folder");
});

test("Telegram is sent no secret, and none is stored", { timeout: 120_000 }, async () => {
  const where = await place();
  const telegram = await openTelegram(where);
  await startBot(where, telegram, ENVIRONMENT);
  telegram.say({ text: "/read notes.txt" });
  await answersOf(telegram, 1);
  telegram.say({ text: "/ls ." });
  await answersOf(telegram, 2);
  telegram.say({ text: "/delete_file notes.txt" });
  await questionIn(telegram);
  const said = JSON.stringify(telegram.answers(42));
  expect(said).toContain("***REDACTED***");
  hasNoSecret(said, "the chat");
  hasNoSecret(storedIn(where.state_dir), "the state folder");
});
