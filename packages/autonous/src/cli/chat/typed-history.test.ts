import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { TypedHistory } from "./typed-history.ts";

async function world() {
  const { path } = await scratchFolder();
  const notes: string[] = [];
  const open = (): TypedHistory => new TypedHistory(path, (text) => notes.push(text));
  return { file: join(path, "chat-history.jsonl"), path, open, notes };
}

test("typed messages are restored, latest first, with their line breaks; readable by this user only", async () => {
  const { open, file } = await world();
  expect(open().read()).toEqual([]);
  const first = open();
  for (const text of ["one", "two\nlines \\ \u2424", "", "  ", "x".repeat(5000), "one", "one"]) first.add(text);
  expect(open().read()).toEqual(["one", "two\nlines \\ \u2424", "one"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("secrets are not stored", async () => {
  const { open, file } = await world();
  const token = `ghp_${"a1B2".repeat(9)}`;
  open().add(`use ${token} for it`);
  expect(readFileSync(file, "utf8")).not.toContain(token);
  expect(open().read()).toEqual(["use ***REDACTED*** for it"]);
});

test("two chats at once lose nothing, also while the file is changed for a new one; it stays bounded", async () => {
  const { open, file, path } = await world();
  const [a, b] = [open(), open()];
  const text = (at: number): string => `${at} ${"y".repeat(1990)}`;
  for (let at = 0; at < 200; at++) (at % 2 === 0 ? a : b).add(text(at));
  const kept = open().read();
  expect(kept.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, at) => text(199 - at)));
  for (let at = 0; at < 1000; at++) a.add(text(at));
  expect(statSync(file).size).toBeLessThan(300_000);
  expect(statSync(`${file}.1`).size).toBeLessThan(300_000);
  expect(existsSync(join(path, "chat-history.jsonl.lock"))).toBe(false);
  expect(open().read().length).toBeLessThanOrEqual(500);
});

test("a lock that a killed chat left is not waited for", async () => {
  const { open, file } = await world();
  writeFileSync(`${file}.lock`, "");
  const { utimesSync } = await import("node:fs");
  utimesSync(`${file}.lock`, 1, 1);
  const history = open();
  for (let at = 0; at < 200; at++) history.add(`${at} ${"y".repeat(1990)}`);
  expect(existsSync(`${file}.1`)).toBe(true);
});

test("a truncated or foreign line is skipped", async () => {
  const { open, file } = await world();
  open().add("one");
  appendFileSync(file, '\n{"text":"cut o');
  open().add("two");
  appendFileSync(file, '\n[]\nnull\n{"text":7}\n\u0000');
  expect(open().read()).toEqual(["two", "one"]);
});

test("a history that cannot be stored is reported once, and the chat continues", async () => {
  const { open, file, notes, path } = await world();
  mkdirSync(file);
  const history = open();
  expect(history.read()).toEqual([]);
  history.add("one");
  expect(notes).toEqual([expect.stringContaining("input history")]);
  const other = await world();
  symlinkSync(join(path, "target"), other.file);
  other.open().add("one");
  expect(existsSync(join(path, "target"))).toBe(false);
});
