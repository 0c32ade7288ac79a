import { execFileSync } from "node:child_process";
import { constants, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { readRegular } from "./read-regular.ts";

test("a regular file is read up to the limit, also behind a link unless the caller says otherwise", async () => {
  const { path } = await scratchFolder();
  writeFileSync(join(path, "a"), "1234");
  symlinkSync("a", join(path, "l"));
  expect(readRegular(join(path, "a"), 4)?.toString()).toBe("1234");
  expect(readRegular(join(path, "a"), 3)).toBeUndefined();
  expect(readRegular(Buffer.from(join(path, "l")), 4)?.toString()).toBe("1234");
  expect(() => readRegular(join(path, "l"), 4, constants.O_NOFOLLOW)).toThrow("ELOOP");
  expect(() => readRegular(join(path, "gone"), 4)).toThrow("ENOENT");
});

test("a pipe, a socket, a folder and a device do not block", async () => {
  const { path } = await scratchFolder();
  execFileSync("mkfifo", [join(path, "pipe")]);
  symlinkSync("pipe", join(path, "to-pipe"));
  symlinkSync("/dev/zero", join(path, "zero"));
  const server = createServer().listen(join(path, "socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    for (const name of ["pipe", "to-pipe", "zero", "socket", "."])
      expect(readRegular(join(path, name), 1 << 20), name).toBeUndefined();
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
