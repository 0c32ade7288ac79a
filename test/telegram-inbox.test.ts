import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchPlace, serveWords, startProgram, until } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { answersOf, openTelegram, startBot, variablesFor } from "./support/telegram.ts";

/** The folder that files go into which people send: the setting, and what may stand in its place. */

test.each(["../x", ".", "~/inbox", "/"])(
  "serve does not start with the inbox folder %j, and says what to do",
  async (folder) => {
    const place = scratchPlace();
    const telegram = await openTelegram(place);
    const program = startProgram(place, serveWords(place), {
      environment: { ...variablesFor(telegram), AUTONOUS_HTTP_PORT: "0", AUTONOUS_INBOX_FOLDER: folder },
    });
    expect(await program.ended).toMatchObject({ code: 1 });
    expect(program.stderr()).toContain(`inbox: AUTONOUS_INBOX_FOLDER "${folder}": `);
    expect(program.stderr()).toContain('set AUTONOUS_INBOX_FOLDER to a folder inside a root, such as "inbox"');
  },
);

interface Standing {
  readonly title: string;
  readonly make: (place: Place) => void;
  /** The service log says this. */
  readonly noted: RegExp;
  /** What the sender is told. */
  readonly told: RegExp;
}

// oxfmt-ignore
const STANDING: readonly Standing[] = [
  { title: "a file",                 make: ({ root }) => writeFileSync(join(root, "inbox"), "x"),                  noted: /is not a folder/,          told: /a name above it is a file/ },
  { title: "a link to a file",       make: ({ root }) => symlinkSync("a.txt", join(root, "inbox")),                noted: /is not a folder/,          told: /a name above it is a file/ },
  { title: "a link to itself",       make: ({ root }) => symlinkSync("inbox", join(root, "inbox")),                noted: /cannot be written \(ELOOP/, told: /Cannot change "inbox\/b\.txt"/ },
  { title: "a link out of the root", make: ({ root, path }) => linkTo(join(path, "outside"), join(root, "inbox")), noted: /points outside/,            told: /points outside the allowed roots/ },
  { title: "a link to nowhere",      make: ({ root, path }) => symlinkSync(join(path, "x"), join(root, "inbox")),  noted: /points outside/,            told: /points outside the allowed roots/ },
];

function linkTo(target: string, path: string): void {
  mkdirSync(target);
  writeFileSync(join(target, "b.txt"), "b"); // the same file: not even compared
  symlinkSync(target, path);
}

for (const { title, make, noted, told } of STANDING)
  test(`where the inbox is ${title} the start says so, files are refused, and the task is done`, async () => {
    const place = scratchPlace();
    make(place);
    const before = readdirSync(place.path, { recursive: true }).filter((name) => !String(name).startsWith("state"));
    const telegram = await openTelegram(place);
    const service = await startBot(place, telegram);
    telegram.send({ kind: "document", file_name: "b.txt", content: "b", caption: "/read a.txt" });
    const [notice, answer] = await answersOf(telegram, 2);
    expect(notice?.text).toMatch(/^Warning: Skipped: "b\.txt" \(/);
    expect(notice?.text).toMatch(told);
    expect(answer?.text).toBe("a");
    await until(() => service.stderr().includes('Inbox "inbox": '), "the note");
    expect(service.stderr()).toMatch(noted);
    expect(service.stderr()).toContain("or set AUTONOUS_INBOX_FOLDER to another folder");
    const after = readdirSync(place.path, { recursive: true }).filter((name) => !String(name).startsWith("state"));
    expect(after).toEqual(before);
  });

test("where the inbox is a link inside the root, files go where it leads", async () => {
  const place = scratchPlace();
  mkdirSync(join(place.root, "received"));
  symlinkSync("received", join(place.root, "inbox"));
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  telegram.send({ kind: "document", file_name: "b.txt", content: "b", caption: "/read inbox/b.txt" });
  expect((await answersOf(telegram, 1))[0]?.text).toBe("b");
  expect(readdirSync(join(place.root, "received"))).toEqual(["b.txt"]);
  expect(service.stderr()).not.toContain("Inbox");
});

test("an inbox in which files run later is named at the start, and each file is asked about", async () => {
  const place = scratchPlace();
  mkdirSync(join(place.root, ".git/hooks"), { recursive: true });
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram, { AUTONOUS_INBOX_FOLDER: ".git/hooks" });
  telegram.send({ kind: "document", file_name: "pre-commit", content: "#!/bin/sh\n", caption: "/ls" });
  const [question] = await answersOf(telegram, 1);
  expect(question?.text).toContain(".git/hooks/pre-commit");
  expect(question?.buttons.length).toBeGreaterThan(0);
  expect(service.stderr()).toMatch(/Inbox "\.git\/hooks": each file needs approval: /);
  expect(readdirSync(join(place.root, ".git/hooks"))).toEqual([]);
});
