import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { hash } from "node:crypto";
import { join } from "node:path";
import * as fc from "fast-check";
import type { Runtime, ToolCallResult } from "@autonous/runtime";
import type { AttachedFile } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

const SECRET = "hunter2hunter2";

function dataOf(result: ToolCallResult): AttachedFile & { readonly redacted: boolean } {
  expect(result.error).toBeNull();
  return result.payload?.data as AttachedFile & { readonly redacted: boolean };
}

function copyOf({ state_dir, run_id }: Runtime, { artifact }: Pick<AttachedFile, "artifact">): Buffer {
  return readFileSync(join(state_dir, "runs", run_id, artifact));
}

test("the copy is what the file was, named by its content, and on record with the end of the call", async () => {
  const { call, make, runtime, events } = await scratch();
  await make({ "root/out/report.csv": "a,b\n1,2\n" });

  const result = await call("attach", { path: "out/report.csv", caption: "as asked" });

  const data = dataOf(result);
  const sha256 = hash("sha256", "a,b\n1,2\n", "hex");
  expect(data).toEqual({
    name: "report.csv",
    media_type: "text/plain",
    bytes: 8,
    sha256,
    artifact: `artifacts/${sha256.slice(0, 16)}-report.csv`,
    redacted: false,
  });
  expect(copyOf(runtime, data).toString()).toBe("a,b\n1,2\n");
  expect(statSync(join(runtime.state_dir, "runs", runtime.run_id, data.artifact)).mode & 0o777).toBe(0o600);
  const completed = (await events()).find(({ type }) => type === "tool_call.completed");
  const { redacted: _, ...file } = data;
  expect(completed?.payload["attachments"]).toEqual([{ ...file, caption: "as asked" }]);
});

test("a later change of the file does not change what is sent, and the same content is one copy", async () => {
  const { call, make, runtime } = await scratch();
  await make({ "root/a.txt": "first" });
  const first = dataOf(await call("attach", { path: "a.txt" }));
  const again = dataOf(await call("attach", { path: "a.txt" }));
  await make({ "root/a.txt": "second" });
  const second = dataOf(await call("attach", { path: "a.txt" }));

  expect(again.artifact).toBe(first.artifact);
  expect(copyOf(runtime, first).toString()).toBe("first");
  expect(copyOf(runtime, second).toString()).toBe("second");
  const folder = join(runtime.state_dir, "runs", runtime.run_id, "artifacts");
  expect(readdirSync(folder)).toHaveLength(2);
});

// oxfmt-ignore
const ENCODINGS = [
  { title: "UTF-8",               bytes: Buffer.from(`ä ${SECRET} ö\n`),                                       hidden: Buffer.from("ä ***REDACTED*** ö\n") },
  { title: "UTF-8 with a mark",   bytes: Buffer.from(`\ufeffx ${SECRET}\r\n`),                                 hidden: Buffer.from("\ufeffx ***REDACTED***\r\n") },
  { title: "Latin-1",             bytes: Buffer.from(`\xe4 ${SECRET} \xff\n`, "latin1"),                       hidden: Buffer.from("\xe4 ***REDACTED*** \xff\n", "latin1") },
  { title: "UTF-16, low first",   bytes: Buffer.from(`\ufeffä ${SECRET} 𝄞\n`, "utf16le"),                      hidden: Buffer.from("\ufeffä ***REDACTED*** 𝄞\n", "utf16le") },
  { title: "UTF-16, high first",  bytes: Buffer.from(`\ufeffä ${SECRET} 𝄞\n`, "utf16le").swap16(),             hidden: Buffer.from("\ufeffä ***REDACTED*** 𝄞\n", "utf16le").swap16() },
];

for (const { title, bytes, hidden } of ENCODINGS) {
  test(`a secret in text as ${title} does not go out, and the rest stays as it is`, async () => {
    const { call, path, runtime } = await scratch({ known_secrets: [SECRET] });
    writeFileSync(join(path, "root/a.txt"), bytes);
    const result = await call("attach", { path: "a.txt" });
    const data = dataOf(result);
    expect(data.redacted).toBe(true);
    expect(result.redacted).toBe(true);
    expect(copyOf(runtime, data).equals(hidden)).toBe(true);
  });
}

test("a secret that is cut by the border of two pieces does not go out", async () => {
  const { call, path, runtime } = await scratch({ known_secrets: [SECRET] });
  const text = `${"x".repeat(256 * 1024 - 9)} ${SECRET} ${"y".repeat(300_000)}\n`;
  writeFileSync(join(path, "root/a.txt"), text);
  const data = dataOf(await call("attach", { path: "a.txt" }));
  expect(copyOf(runtime, data).toString()).toBe(text.replace(SECRET, "***REDACTED***"));
});

test("a file without secrets is copied byte for byte, whatever it holds", async () => {
  const { call, path, runtime } = await scratch();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      writeFileSync(join(path, "root/a.bin"), bytes);
      const data = dataOf(await call("attach", { path: "a.bin" }));
      if (!data.redacted) expect(copyOf(runtime, data).equals(bytes)).toBe(true);
    }),
    { numRuns: 100, examples: [[new Uint8Array([0xff, 0xfe, 0x41])], [new Uint8Array([0xfe, 0xff, 0, 0x41, 0xd8])]] },
  );
});

test("names and captions hold nothing that acts on a terminal, and no secret", async () => {
  const { call, make, runtime } = await scratch({ known_secrets: [SECRET] });
  const name = `a\u001b[31m\u202e ${SECRET} ${"ü".repeat(50)}.txt`;
  await make({ [`root/${name}`]: "x" });
  const data = dataOf(await call("attach", { path: name, caption: `it is ${SECRET}` }));
  expect(data.name).toMatch(/^a\\e\[31m\\u\{202e\} \*\*\*REDACTED\*\*\* ü+\.txt$/);
  expect(data.artifact).toMatch(/^artifacts\/[0-9a-f]{16}-[A-Za-z0-9._-]{1,80}$/);
  expect(copyOf(runtime, data).toString()).toBe("x");
});

test("output that the run stored can be sent", async () => {
  const { call, runtime } = await scratch({
    limits: { lines: 5, bytes: 200 },
    onApproval: () => ({ answer: "grant" }),
  });
  const { payload } = await call("bash", { cmd: "seq 1 500" });
  const storage_ref = payload?.storage_ref ?? "";
  const data = dataOf(await call("attach", { path: storage_ref }));
  expect(copyOf(runtime, data).toString()).toContain("\n250\n");
});

test("a file that is too large is refused before it is copied", async () => {
  const { call, path, runtime } = await scratch();
  writeFileSync(join(path, "root/large.bin"), "\0");
  truncateSync(join(path, "root/large.bin"), 50_000_001);
  const { error } = await call("attach", { path: "large.bin" });
  expect(error).toMatchObject({
    code: "FileTooLarge",
    message: 'Cannot attach "large.bin": it has 50000001 bytes, the limit is 50000000',
    hint: "Compress it, attach a part of it, or give the user its path.",
  });
  expect(readdirSync(join(runtime.state_dir, "runs", runtime.run_id))).not.toContain("artifacts");
});

// oxfmt-ignore
const REFUSED = [
  { title: "a folder",             path: "sub",            code: "InvalidArguments",     says: /it is a folder/ },
  { title: "a pipe",               path: "pipe",           code: "InvalidArguments",     says: /not a regular file/ },
  { title: "nothing",              path: "none.txt",       code: "NotFound",             says: /none\.txt/ },
  { title: "a file outside",       path: "../outside.txt", code: "PathTraversalBlocked", says: /outside/ },
  { title: "a link to outside",    path: "link",           code: "PathTraversalBlocked", says: /link/ },
  { title: "a sensitive place",    path: ".ssh/id_rsa",    code: "SensitivePath",        says: /keys/ },
  { title: "the runtime's own",    path: ".agent/runs",    code: "SensitivePath",        says: /\.agent/ },
];

for (const { title, path, code, says } of REFUSED) {
  test(`attach refuses ${title}`, async () => {
    const { call, make, path: folder, events } = await scratch({ state_dir: ".agent" });
    await make({
      "root/sub/": "",
      "outside.txt": "x",
      "root/link": "-> ../outside.txt",
      "root/.ssh/id_rsa": "x",
    });
    execFileSync("mkfifo", [join(folder, "root/pipe")]);
    const { error } = await call("attach", { path });
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) as string });
    expect(JSON.stringify(await events())).not.toContain("attachments");
  });
}

test("it is not offered in a read-only workspace, and needs no approval in a guarded one", async () => {
  const { runtime } = await scratch({ profile: "readonly" });
  expect(runtime.tools().map(({ name }) => name)).not.toContain("attach");
  const guarded = await scratch();
  await guarded.make({ "root/a.txt": "x" });
  expect(await guarded.runtime.explain({ name: "attach", args: { path: "a.txt" } })).toMatchObject({ effect: "ALLOW" });
});

test("a call that is stopped leaves no half of a copy", async () => {
  const { path, runtime } = await scratch();
  writeFileSync(join(path, "root/a.txt"), "line\n".repeat(2_000_000));
  const stop = new AbortController();
  const result = await runtime.call(
    { name: "attach", args: { path: "a.txt" } },
    {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    },
  );
  expect(result.error?.code).toBe("Cancelled");
  const folder = join(runtime.state_dir, "runs", runtime.run_id);
  const left = readdirSync(folder).includes("artifacts") ? readdirSync(join(folder, "artifacts")) : [];
  expect(left).toEqual([]);
});
