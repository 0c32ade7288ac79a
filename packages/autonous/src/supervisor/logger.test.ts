import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLogger, logFile } from "./logger.ts";
import type { Logger, LoggerOptions } from "./logger.ts";

interface Scratch {
  readonly folder: string;
  readonly file: string;
  readonly told: string[];
  open(options?: Partial<LoggerOptions>): Logger & { close(): void };
  lines(): Record<string, unknown>[];
}

function scratch(): Scratch {
  const path = mkdtempSync(join(tmpdir(), "autonous-logger-"));
  const folder = join(path, "logs");
  const told: string[] = [];
  onTestFinished(() => rmSync(path, { recursive: true }));
  return {
    folder,
    file: logFile(folder),
    told,
    open(options = {}) {
      const logger = createLogger({
        folder,
        redact: (text) => text.replaceAll("hunter2", "[REDACTED]"),
        tell: (line) => told.push(line),
        clock: () => 0,
        ...options,
      });
      onTestFinished(() => logger.close());
      return logger;
    },
    lines: () => linesOf(logFile(folder)),
  };
}

function linesOf(file: string): Record<string, unknown>[] {
  const text = readFileSync(file, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a line has its time, level, part and facts, and the file is for this user only", () => {
  const { open, lines, told, file } = scratch();
  const logger = open();
  logger.info("Began", { worker: "w1", pid: 7 });
  logger.part("telegram").warn("No network", { task_id: "t1" });
  logger.error("Over");
  expect(lines()).toEqual([
    { ts: "1970-01-01T00:00:00.000Z", level: "info", part: "service", message: "Began", worker: "w1", pid: 7 },
    { ts: "1970-01-01T00:00:00.000Z", level: "warn", part: "telegram", message: "No network", task_id: "t1" },
    { ts: "1970-01-01T00:00:00.000Z", level: "error", part: "service", message: "Over" },
  ]);
  expect(told).toEqual(["No network", "Over"]); // info lines go to the file only
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a custom field cannot replace the standard fields of a line", () => {
  const { open, lines } = scratch();
  open().info("Began", { level: "error", ts: "never", message: "other" });
  expect(lines()).toMatchObject([{ level: "info", ts: "1970-01-01T00:00:00.000Z", message: "Began" }]);
});

test("secrets appear neither in the file nor in messages", () => {
  const { open, lines, told } = scratch();
  open().warn('the password is "hunter2"', { why: "hunter2\nhunter2" });
  expect(JSON.stringify(lines())).not.toContain("hunter2");
  expect(told).toEqual(['the password is "[REDACTED]"']);
});

test("a line that would be too long is truncated, and newlines in it do not start another", () => {
  const { open, lines } = scratch();
  open().info(`a\nb${"x".repeat(100_000)}`);
  const [line] = lines();
  expect(lines()).toHaveLength(1);
  expect(String(line?.["message"])).toMatch(/^a\nbx+… \(\d+ more characters\)$/);
  expect(String(line?.["message"]).length).toBeLessThan(8300);
});

test("a full log file is rotated; at most the configured number of files remains, none over the size limit", () => {
  const { open, folder, file } = scratch();
  const logger = open({ maxBytes: 1000, kept: 3 });
  for (let i = 0; i < 100; i++) logger.info(`line ${i}`);
  expect(readdirSync(folder).sort()).toEqual(["service.jsonl", "service.jsonl.1", "service.jsonl.2"]);
  const kept = [`${file}.2`, `${file}.1`, file].flatMap(linesOf).map(({ message }) => message);
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => `line ${100 - kept.length + i}`));
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(1000);
});

test("the next start appends to the file, also after a truncated line", () => {
  const { open, file } = scratch();
  open().info("one");
  const whole = readFileSync(file, "utf8");
  writeFileSync(file, `${whole}{"ts":"19`); // killed during a write
  open().info("two");
  expect(readFileSync(file, "utf8").split("\n")).toEqual([
    whole.trimEnd(),
    '{"ts":"19',
    expect.stringContaining('"two"') as string,
    "",
  ]);
});

test("a deleted file is created again", () => {
  const { open, folder, lines } = scratch();
  const logger = open();
  logger.info("one");
  rmSync(folder, { recursive: true });
  logger.info("two");
  expect(lines()).toMatchObject([{ message: "two" }]);
});

test("a log that cannot be written is reported once, stops nothing, and resumes when it can", () => {
  const { open, folder, told, lines } = scratch();
  writeFileSync(folder, "a file where the folder should be");
  const logger = open();
  logger.info("one");
  logger.warn("two");
  logger.warn("three");
  expect(told).toEqual([
    expect.stringMatching(/^Cannot write the log ".*service.jsonl": E.*The service continues without it$/),
    "two",
    "three",
  ]);
  rmSync(folder);
  logger.warn("four");
  expect(told.slice(3)).toEqual(["four", expect.stringMatching(/is writable again$/)]);
  expect(lines()).toMatchObject([{ message: "four" }]);
});

test.skipIf(!existsSync("/dev/full"))("a full disk stops nothing", () => {
  const { open, folder, told } = scratch();
  mkdirSync(folder);

  symlinkSync("/dev/full", logFile(folder));
  const logger = open();
  for (let i = 0; i < 3; i++) logger.info("x");
  expect(told).toEqual([expect.stringContaining("ENOSPC")]);
});
