import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { NotAFileError, openOwnFile, readOwnText } from "./read-own-file.ts";

// oxfmt-ignore
const OTHERS = [
  { title: "a pipe",           kind: /a pipe|a socket or a pipe/, make: (path: string) => void execFileSync("mkfifo", [path]) },
  { title: "a folder",         kind: /a folder/,                  make: (path: string) => mkdirSync(path) },
  { title: "a link to zeros",  kind: /a device/,                  make: (path: string) => symlinkSync("/dev/zero", path) },
  { title: "a link to a pipe", kind: /a pipe|a socket or a pipe/, make: (path: string) => { execFileSync("mkfifo", [`${path}.pipe`]); symlinkSync(`${path}.pipe`, path); } },
  { title: "a socket",         kind: /a socket/,                  make: async (path: string) => {
    const server = createServer().listen(path);
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  } },
] as const;

test.each(OTHERS)("$title in the place of a file of ours is refused at once, with a way on", async ({ make, kind }) => {
  const { path } = await scratchFolder();
  const file = join(path, "grants.json");
  await make(file);
  for (const flags of [constants.O_RDONLY, constants.O_RDWR, constants.O_WRONLY | constants.O_CREAT]) {
    if (file.startsWith("/dev") || (flags !== constants.O_RDONLY && kind.source.includes("device"))) continue;
    expect(() => openOwnFile(file, flags, 0o600)).toThrow(NotAFileError);
    expect(() => openOwnFile(file, flags, 0o600)).toThrow(kind);
  }
  const refused = expect.objectContaining({
    code: "RecordFailed",
    hint: expect.stringContaining(`Move "${file}" away`),
  });
  expect(() => readOwnText(file)).toThrow(refused);
});

test("a file is read, also behind a link; what is not there is an error of the system", async () => {
  const { path } = await scratchFolder();
  writeFileSync(join(path, "a"), "text");
  symlinkSync("a", join(path, "b"));
  expect(readOwnText(join(path, "b"))).toBe("text");
  closeSync(openOwnFile(join(path, "c"), constants.O_WRONLY | constants.O_CREAT, 0o600));
  expect(readOwnText(join(path, "c"))).toBe("");
  expect(() => readOwnText(join(path, "none"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
