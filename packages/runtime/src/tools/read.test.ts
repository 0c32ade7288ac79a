import { createHash, hash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { z } from "zod";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolCallResult } from "../protocol/result.ts";

/** A runtime on a root that holds one file, `a.txt`. */
async function holding(content: string | Uint8Array, options: Parameters<typeof scratch>[0] = {}): Promise<Scratch> {
  const place = await scratch(options);
  writeFileSync(join(place.path, "root/a.txt"), content);
  return place;
}

async function reading(
  content: string | Uint8Array,
  args: Record<string, unknown> = {},
  options: Parameters<typeof scratch>[0] = {},
): Promise<ToolCallResult> {
  const { call } = await holding(content, options);
  return await call("read", { path: "a.txt", ...args });
}

test("a file is given exactly as it is, with its hash, its size and what is to know about it", async () => {
  const content = "let a = 1;\r\n\tß 世界\r\n";
  const { ok, payload, error } = await reading(content);
  expect(error).toBeNull();
  expect(ok).toBe(true);
  expect(payload).toMatchObject({ stdout: content, stderr: "", exit_code: 0, truncated_lines: false });
  expect(payload).not.toHaveProperty("next_page_cursor");
  expect(payload?.data).toEqual({
    path: "a.txt",
    kind: "text",
    media_type: "text/plain",
    size: Buffer.byteLength(content),
    sha256: hash("sha256", content, "hex"),
    start_line: 1,
    end_line: 2,
    total_lines: 2,
    offset_bytes: 0,
    end_bytes: Buffer.byteLength(content),
    line_ends: "crlf",
    valid_utf8: true,
    bom: false,
  });
});

// oxfmt-ignore
const SLICES = [
  { title: "an empty file",                   content: "",               args: {},                                  stdout: "",        data: { start_line: 1, end_line: 0, total_lines: 0, line_ends: "none" } },
  { title: "an empty file from line 1",       content: "",               args: { offset: 1 },                       stdout: "",        data: { total_lines: 0 } },
  { title: "no final line end",               content: "a\nb",           args: {},                                  stdout: "a\nb",    data: { end_line: 2, total_lines: 2 } },
  { title: "a blank last line",               content: "a\n\n",          args: {},                                  stdout: "a\n\n",   data: { end_line: 2, total_lines: 2 } },
  { title: "lone carriage returns",           content: "a\rb\r",         args: {},                                  stdout: "a\rb\r",  data: { total_lines: 1, line_ends: "cr" } },
  { title: "a byte order mark",               content: "\ufeffa\nb\n",   args: {},                                  stdout: "a\nb\n",  data: { bom: true, size: 7, offset_bytes: 3, total_lines: 2 } },
  { title: "nothing but a byte order mark",   content: "\ufeff",         args: {},                                  stdout: "",        data: { bom: true, size: 3, total_lines: 0, end_line: 0 } },
  { title: "a byte order mark by bytes",      content: "\ufeffab",       args: { offset_bytes: 1, limit_bytes: 1 }, stdout: "a",       data: { offset_bytes: 3, end_bytes: 4 } },
  { title: "lines from the middle",           content: "1\n2\n3\n4\n",   args: { offset: 2, limit: 2 },             stdout: "2\n3\n",  data: { start_line: 2, end_line: 3, total_lines: 4, offset_bytes: 2, end_bytes: 6 } },
  { title: "the last line",                   content: "1\n2\n3",        args: { offset: 3 },                       stdout: "3",       data: { start_line: 3, end_line: 3 } },
  { title: "bytes from the middle",           content: "1\n22\n3\n",     args: { offset_bytes: 3, limit_bytes: 2 }, stdout: "2\n",     data: { start_line: 2, end_line: 2, offset_bytes: 3, end_bytes: 5 } },
  { title: "bytes, said with offset",         content: "1\n22\n3\n",     args: { offset: 0, limit_bytes: 3 },       stdout: "1\n2",    data: { start_line: 1, end_line: 2, end_bytes: 3 } },
  { title: "bytes from inside a character",   content: "aéb",            args: { offset_bytes: 2 },                 stdout: "éb",      data: { offset_bytes: 1 } },
  { title: "bytes up to inside a character",  content: "aéb",            args: { limit_bytes: 2 },                  stdout: "a",       data: { end_bytes: 1 } },
  { title: "less than a character",           content: "éb",             args: { limit_bytes: 1 },                  stdout: "é",       data: { end_bytes: 2 } },
  { title: "a replacement mark of its own",   content: "a\ufffd",        args: {},                                  stdout: "a\ufffd", data: { valid_utf8: true } },
  { title: "mixed line ends",                 content: "a\nb\r\n",       args: {},                                  stdout: "a\nb\r\n", data: { line_ends: "mixed" } },
] as const;

for (const { title, content, args, stdout, data } of SLICES) {
  test(`${title}: the slice and its place are right`, async () => {
    const { payload, error } = await reading(content, args);
    expect(error).toBeNull();
    expect(payload?.stdout).toBe(stdout);
    expect(payload?.data).toMatchObject({ ...data, sha256: hash("sha256", content, "hex") });
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "a line after the last",         args: { offset: 3 },                       code: "InvalidArguments",     says: /from line 3: it has 2 lines/ },
  { title: "a byte after the last",         args: { offset_bytes: 4 },                 code: "InvalidArguments",     says: /from byte 4: it has 4 bytes/ },
  { title: "line 0",                        args: { offset: 0 },                       code: "InvalidArguments",     says: /counted from 1/ },
  { title: "a negative line",               args: { offset: -1 },                      code: "InvalidArguments",     says: /counted from 1/ },
  { title: "no lines",                      args: { limit: 0 },                        code: "InvalidArguments",     says: /"limit"/ },
  { title: "half a line",                   args: { offset: 1.5 },                     code: "InvalidArguments",     says: /"offset"/ },
  { title: "two beginnings",                args: { offset: 1, offset_bytes: 1 },      code: "InvalidArguments",     says: /"offset" .* "offset_bytes": both set the start/ },
  { title: "two lengths",                   args: { limit: 1, limit_bytes: 1 },        code: "InvalidArguments",     says: /"limit" .* "limit_bytes": both set the page size/ },
  { title: "bytes and lines",               args: { offset_bytes: 1, limit: 1 },       code: "InvalidArguments",     says: /one counts bytes and the other lines/ },
  { title: "a cursor that is none",         args: { cursor: "x" },                     code: "InvalidCursor",        says: /altered/ },
  { title: "an argument that it has not",   args: { encoding: "latin1" },              code: "InvalidArguments",     says: /"encoding" is not an argument/ },
  { title: "something that is not there",   args: { path: "nowhere.txt" },             code: "NotFound",             says: /"nowhere.txt"/ },
  { title: "a folder",                      args: { path: "." },                       code: "InvalidArguments",     says: /folder/ },
  { title: "a pipe",                        args: { path: "pipe" },                    code: "InvalidArguments",     says: /"pipe"/ },
  { title: "the outside",                   args: { path: "../secret" },               code: "PathTraversalBlocked", says: /outside/ },
  { title: "a device outside",              args: { path: "/dev/zero" },               code: "PathTraversalBlocked", says: /outside/ },
  { title: "a link to the outside",         args: { path: "out" },                     code: "PathTraversalBlocked", says: /outside/ },
  { title: "a sensitive place",             args: { path: ".ssh/id_rsa" },             code: "SensitivePath",        says: /keys/ },
  { title: "a stored output of no run",     args: { path: "observations/call_1.txt" }, code: "NotFound",             says: /stored no file of that name/ },
  { title: "what climbs out of it",         args: { path: "observations/../../x" },    code: "PathTraversalBlocked", says: /outside/ },
] as const;

for (const { title, args, code, says } of REFUSED) {
  test(`read of ${title} is refused with ${code}`, async () => {
    const { make, call, path } = await holding("a\nb\n");
    await make({ secret: "s", "root/out": "-> ../secret", "root/.ssh/id_rsa": "k" });
    execFileSync("mkfifo", [join(path, "root/pipe")]);
    const { ok, error } = await call("read", { path: "a.txt", ...args });
    expect(ok).toBe(false);
    expect(error?.message).toMatch(says);
    expect(error?.code).toBe(code);
  });
}

test("a line after the last of an empty file says that it is empty", async () => {
  expect((await reading("", { offset: 2 })).error?.message).toBe('Cannot read "a.txt" from line 2: it is empty');
});

// oxfmt-ignore
const NAMED = [
  { title: "an image",      content: Buffer.from("89504e470d0a1a0a0000000d", "hex"), says: '"a.txt" is an image (image/png), 12 bytes; its content is not shown\n',                          data: { kind: "image", media_type: "image/png" } },
  { title: "a binary file", content: Buffer.from("a\0b"),                            says: '"a.txt" is a binary file (application/octet-stream), 3 bytes; its content is not shown\n',    data: { kind: "binary", media_type: "application/octet-stream" } },
  { title: "UTF-16",        content: Buffer.from("\ufeffhi", "utf16le"),             says: '"a.txt" is UTF-16 text (text/plain; charset=utf-16le), 6 bytes; only UTF-8 is shown\n',     data: { kind: "binary", media_type: "text/plain; charset=utf-16le" } },
] as const;

for (const { title, content, says, data } of NAMED) {
  test(`${title} is named with type and size instead of shown`, async () => {
    const { ok, payload } = await reading(content, { offset: 5 });
    expect(ok).toBe(true);
    expect(payload?.stdout).toBe(says);
    expect(payload?.data).toEqual({
      path: "a.txt",
      ...data,
      size: content.length,
      sha256: hash("sha256", content, "hex"),
    });
  });
}

test("bytes that are not UTF-8 become replacement characters, and the output says so", async () => {
  const { ok, payload } = await reading(Buffer.from("caf\u00e9\nna\u00efve\n", "latin1"));
  expect(ok).toBe(true);
  expect(payload?.stdout).toBe("caf\ufffd\nna\ufffdve\n");
  expect(payload?.stderr).toMatch(/Not all of this is valid UTF-8/);
  expect(payload?.data).toMatchObject({ valid_utf8: false, total_lines: 2, end_bytes: 11 });
});

test("the alias read_file takes the arguments that its callers send", async () => {
  const { call } = await holding("1\n2\n3\n4\n");
  // oxfmt-ignore
  const cases = [
    [{ target_file: "a.txt", should_read_entire_file: true, start_line_one_indexed: 3 },                                                     "1\n2\n3\n4\n"],
    [{ target_file: "a.txt", start_line_one_indexed: 2, end_line_one_indexed_inclusive: 3, should_read_entire_file: false, explanation: "x" }, "2\n3\n"],
    [{ target_file: "a.txt", offset: 2, limit: 1 },                                                                                          "2\n"],
    [{ file_path: "a.txt", offset: 4, limit: null },                                                                                         "4\n"],
    [{ file_path: "a.txt", end_line: 2 },                                                                                                    "1\n2\n"],
    [{ file_path: "a.txt", start_line: 3, end_line: -1 },                                                                                    "3\n4\n"],
    [{ absolute_path: "a.txt", offset: 0, limit: 1 },                                                                                        "1\n"],
    [{ path: "a.txt", offset_bytes: 6 },                                                                                                     "4\n"],
  ] as const;
  for (const [args, stdout] of cases) {
    const { payload, error } = await call("read_file", args);
    expect(error, JSON.stringify(args)).toBeNull();
    expect(payload?.stdout, JSON.stringify(args)).toBe(stdout);
  }
  expect((await call("read_file", { file_path: "a.txt", start_line: 3, end_line: 2 })).error?.code).toBe(
    "InvalidArguments",
  );
  expect((await call("read_file", { explanation: "no path" })).error?.message).toMatch(/"path"/);
});

async function allPages({ call }: Scratch, args: Record<string, unknown>): Promise<ToolCallResult[]> {
  const pages: ToolCallResult[] = [];
  let cursor: string | undefined;
  do {
    const page = await call("read", { ...args, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.error).toBeNull();
    pages.push(page);
    cursor = page.payload?.next_page_cursor;
  } while (cursor !== undefined);
  return pages;
}

interface Slice {
  readonly start_line: number;
  readonly end_line: number;
  readonly offset_bytes: number;
  readonly end_bytes: number;
}

test("any sequence of pages is the whole file, each within its limits", async () => {
  const limits = { lines: 5, bytes: 200 }; // notes and data have to fit too
  const place = await scratch({ limits });
  const bytes = fc
    .array(
      fc.oneof(
        fc
          .constantFrom("a", "bc", "é", "世", "😀", "\n", "\r\n", "\r", "\ufeff", "long line ")
          .map((text) => Buffer.from(text)),
        fc.constantFrom("ff", "c3", "e282", "f09f98", "80").map((hex) => Buffer.from(hex, "hex")),
      ),
      { maxLength: 150 },
    )
    .map((parts) => Buffer.concat(parts))
    .filter((each) => !(each[0] === 0xff && each.length > 1)); // might be recognised as something else
  const size = fc.oneof(
    fc.constant({}),
    fc.record({ limit: fc.integer({ min: 1, max: 7 }) }),
    fc.record({ limit_bytes: fc.integer({ min: 1, max: 220 }) }),
  );
  await fc.assert(
    fc.asyncProperty(bytes, size, async (content, given) => {
      writeFileSync(join(place.path, "root/a.txt"), content);
      const pages = await allPages(place, { path: "a.txt", ...given });
      const text = pages.map((page) => page.payload?.stdout).join("");
      expect(text).toBe(new TextDecoder().decode(content));
      let end = content.subarray(0, 3).equals(Buffer.from("\ufeff")) ? 3 : 0;
      for (const { payload } of pages) {
        const slice = payload?.data as Slice;
        expect(slice.offset_bytes).toBe(end);
        expect(slice.start_line).toBe(content.subarray(0, end).filter((byte) => byte === 10).length + 1);
        expect(Buffer.byteLength(payload?.stdout ?? "")).toBeLessThanOrEqual(limits.bytes);
        end = slice.end_bytes;
      }
      expect(end).toBe(content.length);
    }),
    { numRuns: 300 },
  );
});

test("bytes read one after the other without a cursor are the whole file too", async () => {
  const content = "aé世😀\r\nb\n".repeat(4);
  const { call } = await holding(content);
  let text = "";
  const size = Buffer.byteLength(content);
  for (let at = 0; at < size; at += 5) {
    text += (await call("read", { path: "a.txt", offset: at, limit_bytes: 5 })).payload?.stdout;
  }
  expect(text).toBe(content);
});

test("a page ends after a whole line, says what was full, and its cursor goes on", async () => {
  const content = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join("");
  const place = await holding(content, { limits: { lines: 4, bytes: 1000 } });
  const [first, second, ...rest] = await allPages(place, { path: "a.txt" });
  expect(first?.payload).toMatchObject({
    truncated_lines: true,
    truncated_bytes: false,
    data: { end_line: 4, total_lines: 10 },
  });
  expect(second?.payload).toMatchObject({
    truncated_lines: true,
    data: { start_line: 5, end_line: 8, total_lines: 10 },
  });
  expect(rest.at(-1)?.payload).toMatchObject({
    truncated_lines: false,
    truncated_bytes: false,
    stdout: "line 9\nline 10\n",
  });
  expect((await place.call("read", { path: "a.txt", limit: 2 })).payload).toMatchObject({
    truncated_lines: false,
    truncated_bytes: false,
    next_page_cursor: expect.any(String) as unknown,
  });
  const byBytes = await reading(content, {}, { limits: { lines: 100, bytes: 20 } });
  expect(byBytes.payload).toMatchObject({ truncated_lines: false, truncated_bytes: true, stdout: "line 1\nline 2\n" });
});

test("a line that is longer than a page comes in pieces, and that is said", async () => {
  const place = await holding(`short\n${"é".repeat(200)}\nend\n`, { limits: { lines: 100, bytes: 101 } });
  const pages = await allPages(place, { path: "a.txt" });
  expect(pages.map((page) => page.payload?.stdout.length)).toEqual([6, 50, 50, 50, 51, 4]);
  expect(pages.map((page) => page.payload?.stderr !== "")).toEqual([false, true, true, true, false, false]);
  expect(pages[1]?.payload?.stderr).toBe("Line 2 is longer than a page and continues on the next one\n");
  expect(pages[2]?.payload?.data).toMatchObject({ start_line: 2, end_line: 2 });
  expect(pages[4]?.payload?.data).toMatchObject({ start_line: 2, end_line: 2 });
});

test("a page of marks stays within the limit", async () => {
  const place = await holding(Buffer.alloc(1000, 0xff).fill(0x61, 0, 2), { limits: { lines: 100, bytes: 200 } });
  const pages = await allPages(place, { path: "a.txt" });
  for (const { payload } of pages) expect(Buffer.byteLength(payload?.stdout ?? "")).toBeLessThanOrEqual(200);
  expect(pages[0]?.payload).toMatchObject({ truncated_bytes: true });
  expect(pages.map((page) => page.payload?.stdout).join("")).toBe(`aa${"\ufffd".repeat(998)}`);
});

test("a cursor is refused when the file has changed, and beside an offset that is not the first page's", async () => {
  const { call, path } = await holding("1\n2\n3\n");
  const args = { path: "a.txt", offset: 1, limit: 1 };
  const cursor = (await call("read", args)).payload?.next_page_cursor;
  expect((await call("read", { ...args, cursor })).payload?.stdout).toBe("2\n");
  expect((await call("read", { path: "a.txt", cursor })).payload?.stdout).toBe("2\n3\n");
  expect((await call("read", { ...args, offset: 2, cursor })).error).toMatchObject({ code: "InvalidArguments" });
  writeFileSync(join(path, "root/b.txt"), "1\n2\n3\n");
  expect((await call("read", { ...args, path: "b.txt", cursor })).error).toMatchObject({ code: "InvalidCursor" });
  appendFileSync(join(path, "root/a.txt"), "4\n");
  expect((await call("read", { ...args, cursor })).error).toMatchObject({
    code: "InvalidCursor",
    message: 'Cannot continue reading "a.txt": it has changed since the previous page',
    hint: "Read it again without a cursor.",
  });
});

test("a file that was changed and given its old time again is a changed file", async () => {
  const { call, path } = await holding("1\n2\n3\n");
  const file = join(path, "root/a.txt");
  utimesSync(file, 1000, 1000);
  const cursor = (await call("read", { path: "a.txt", limit: 1 })).payload?.next_page_cursor;
  writeFileSync(file, "x\ny\nz\n");
  utimesSync(file, 1000, 1000);
  expect((await call("read", { path: "a.txt", cursor })).error?.code).toBe("InvalidCursor");
});

test("output that a run stored is read by its reference, in pages, and not from another run", async () => {
  const place = await scratch({ limits: { lines: 3, bytes: 1000 } });
  const lines = Array.from({ length: 8 }, (_, i) => `word ${i}\n`).join("");
  place.runtime.register(
    defineTool({
      name: "talk",
      version: "1.0.0",
      description: "Says a lot.",
      args: z.strictObject({}),
      returns: z.strictObject({}),
      required_permissions: [],
      side_effects: ["none"],
      risk: "low",
      permission_class: "readonly",
      execute: () => Promise.resolve({ data: {}, stdout: lines }),
    }),
  );
  const talked = await place.call("talk");
  const path = talked.payload?.storage_ref ?? "";
  expect(path).toMatch(/^observations\//);
  const pages = await allPages(place, { path });
  expect(pages.map((page) => page.payload?.stdout).join("")).toBe(lines);
  expect(pages).toHaveLength(3);
  const other = await place.runtime.call({ name: "read", args: { path }, run_id: "run_other" });
  expect(other.error?.code).toBe("NotFound");
});

const MEBIBYTE = 1024 * 1024;

/** Numbered lines of 64 bytes each. Gives the hash of all of them. */
function writeLines(file: string, mebibytes: number): string {
  const fd = openSync(file, "w");
  const sum = createHash("sha256");
  for (let block = 0; block < mebibytes; block++) {
    const first = block * 16_384 + 1;
    const lines = Array.from({ length: 16_384 }, (_, i) => `${`${first + i}`.padEnd(63, ".")}\n`).join("");
    writeSync(fd, lines);
    sum.update(lines);
  }
  closeSync(fd);
  return sum.digest("hex");
}

test("a large file is read from any line in bounded memory, and its next pages cost only themselves", async () => {
  const place = await scratch({ limits: { lines: 10, bytes: 51_200 } });
  const file = join(place.path, "root/big.log");
  const sum = writeLines(file, 96);
  await place.call("read", { path: "big.log" });
  const before = process.memoryUsage().rss;
  const line = 1_500_000;
  const first = await place.call("read", { path: "big.log", offset: line });
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * MEBIBYTE);
  expect(first.payload?.stdout.startsWith(`${line}.`)).toBe(true);
  expect(first.payload?.data).toMatchObject({
    sha256: sum,
    size: 96 * MEBIBYTE,
    total_lines: 96 * 16_384,
    start_line: line,
    end_line: line + 9,
    offset_bytes: (line - 1) * 64,
  });
  const next = await place.call("read", { path: "big.log", cursor: first.payload?.next_page_cursor });
  expect(next.payload?.stdout.startsWith(`${line + 10}.`)).toBe(true);
  expect(next.payload?.data).toMatchObject({ sha256: sum, start_line: line + 10 });
  const byByte = await place.call("read", { path: "big.log", offset_bytes: 50 * MEBIBYTE + 3, limit_bytes: 4 });
  expect(byByte.payload).toMatchObject({ stdout: "201.", data: { start_line: 50 * 16_384 + 1, sha256: sum } });
  const past = await place.call("read", { path: "big.log", offset: 96 * 16_384 + 1 });
  expect(past.error?.message).toMatch(/it has 1572864 lines/);
});

test("lines are found at the seams of what is read at a time", async () => {
  const place = await scratch();
  const file = join(place.path, "root/seams.txt");
  writeLines(file, 3); // line ends fall exactly on the seams
  for (const line of [16_384, 16_385, 32_768, 32_769, 49_152]) {
    const { payload } = await place.call("read", { path: "seams.txt", offset: line, limit: 1 });
    expect(payload?.stdout.startsWith(`${line}.`), `${line}`).toBe(true);
  }
});

test("a file too large to hash is still read, and its hash is null", async () => {
  const place = await scratch();
  const file = join(place.path, "root/huge.log");
  writeLines(file, 1);
  truncateSync(file, 5 * 1024 ** 3); // sparse: takes no room
  const first = await place.call("read", { path: "huge.log", offset: 7, limit: 1 });
  expect(first.payload?.stdout.startsWith("7.")).toBe(true);
  expect(first.payload?.data).toMatchObject({ sha256: null, total_lines: null, start_line: 7 });
  expect(first.payload?.stderr).toMatch(/too large to be hashed/);
  const next = await place.call("read", { path: "huge.log", limit: 1, cursor: first.payload?.next_page_cursor });
  expect(next.payload?.data).toMatchObject({ start_line: 8, sha256: null });
  const byByte = await place.call("read", { path: "huge.log", offset_bytes: 64, limit_bytes: 2 });
  expect(byByte.payload).toMatchObject({ stdout: "2.", data: { start_line: null, end_line: null } });
});

test("a read that is cancelled ends while it looks through the file", async () => {
  const place = await scratch();
  const file = join(place.path, "root/zeros.txt");
  writeFileSync(file, "a".repeat(9000));
  truncateSync(file, 3 * 1024 ** 3);
  const cancel = new AbortController();
  const result = await place.runtime.call(
    { name: "read", args: { path: "zeros.txt" } },
    { signal: cancel.signal, onProgress: () => cancel.abort() },
  );
  expect(result.error?.code).toBe("Cancelled");
});

test("names that could act on a terminal are made visible where a binary file is named", async () => {
  const place = await scratch();
  mkdirSync(join(place.path, "root/odd"));
  writeFileSync(join(place.path, "root/odd/\u001b[31mred"), "a\0");
  expect((await place.call("read", { path: "odd/\u001b[31mred" })).payload?.stdout).toMatch(
    /^"odd\/\\e\[31mred" is a binary/,
  );
});

test("a secret that is cut by a page is redacted all the same", async () => {
  const { make, call } = await scratch();
  const body = Array.from({ length: 40 }, (_, i) => `${"MIIEpAIBAAKCAQEA7bq0".repeat(3)}${String(i).padStart(4, "0")}`);
  const key = ["-----BEGIN RSA PRIVATE KEY-----", ...body, "-----END RSA PRIVATE KEY-----"];
  await make({
    "root/config.yaml": `a: 1\nDEPLOY_TOKEN=correct-horse-battery-staple\nkey: |\n${key.join("\n")}\nb: 2\n`,
  });

  const inside = await call("read", { path: "config.yaml", offset: 12, limit: 5 });
  const across = await call("read", { path: "config.yaml", offset: 40, limit: 10 });
  const bytes = await Promise.all(
    Array.from({ length: 60 }, (_, i) => call("read", { path: "config.yaml", offset_bytes: i, limit_bytes: 12 })),
  );

  for (const { payload, redacted } of [inside, across]) {
    expect(redacted).toBe(true);
    expect(payload?.stdout).not.toMatch(/MIIE|AQEA7/);
  }
  expect(across.payload?.stdout).toContain("b: 2");
  expect(bytes.map(({ payload }) => payload?.stdout).join(" ")).not.toMatch(/horse|batter|staple/);
});
