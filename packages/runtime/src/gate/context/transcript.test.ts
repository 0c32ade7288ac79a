import { closeSync, existsSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { createRedactor } from "../../redact/redact.ts";
import { openTranscript } from "./transcript.ts";

async function transcript(place = "whole.txt") {
  const { path } = await scratchFolder();
  const file = place.startsWith("/") ? place : join(path, place);
  const opened = openTranscript({
    limits: { lines: 10, bytes: 1_000 },
    redactor: createRedactor({ known: [] }),
    openAside() {
      const fd = openSync(file, "w");
      const write = (bytes: Uint8Array): void => void writeSync(fd, bytes);
      return { storage_ref: "observations/call_1.txt", write, close: () => closeSync(fd) };
    },
  });
  return { file, ...opened };
}

test("output within the limits is shown, and nothing is stored", async () => {
  const { write, end, file } = await transcript();
  write("stdout", Buffer.from("out\n"));
  write("stderr", Buffer.from("err\n"));

  expect(end()).toEqual({
    stdout: "out\n",
    stderr: "err\n",
    truncated_lines: false,
    truncated_bytes: false,
    redacted: false,
  });
  expect(existsSync(file)).toBe(false);
});

test("output without end is kept up to a bound, which is told", async () => {
  const { write, end, file } = await transcript();
  const piece = Buffer.from("y\n".repeat(1 << 19));
  for (let at = 0; at < 70; at++) write("stdout", piece);
  const { stdout, aside } = end();

  expect(statSync(file).size).toBe(64 << 20);
  expect(aside).toEqual({
    storage_ref: "observations/call_1.txt",
    sha256: hash("sha256", readFileSync(file), "hex"),
  });
  expect(stdout).toMatch(/^y\n[^]*full output: observations\/call_1.txt \(first 67108864 bytes\)\]\n[^]*y\n$/);
});

// oxfmt-ignore
const NO_ROOM = [
  { title: "is full",                place: "/dev/full",   code: "ENOSPC" },
  { title: "cannot be written to",   place: "none/a.txt",  code: "ENOENT" },
] as const;

for (const { title, place, code } of NO_ROOM) {
  test(`where the disk ${title}, the output is shown and what is missing is told`, async () => {
    const { write, end } = await transcript(place);
    for (let at = 1; at <= 1_000; at++) write("stdout", Buffer.from(`line ${at}\n`));
    const { stdout, aside, truncated_lines } = end();

    expect(aside).toBeUndefined();
    expect(truncated_lines).toBe(true);
    expect(stdout).toMatch(new RegExp(`^line 1\n[^]*could not be stored \\(${code}\\)\\]\n[^]*line 1000\n$`));
  });
}
