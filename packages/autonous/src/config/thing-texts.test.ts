import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { readTexts } from "./thing-texts.ts";

test("texts are read if they match the hash; long, binary, changed, odd and missing ones are left out", async () => {
  const { path, make } = await scratchFolder();
  const texts = { "a.md": "text\n", "sub/b.sh": "echo\n", "long.txt": "x".repeat(200_000), "binary.bin": "a\0b" };
  await make({ ...texts, "changed.md": "now", "folder/": "" });
  spawnSync("mkfifo", [join(path, "pipe")]);
  const hashed = { ...texts, "changed.md": "before", folder: "", pipe: "", "missing.md": "" };
  const files = Object.entries(hashed).map(([name, text]) => ({ path: name, sha256: hash("sha256", text) }));

  expect(readTexts({ kind: "skill", path, files })).toEqual({ "a.md": "text\n", "sub/b.sh": "echo\n" });
  const sha256 = hash("sha256", "text\n");
  const file = join(path, "a.md");
  expect(readTexts({ kind: "module", path: file, files: [{ path: "a.md", sha256 }] })).toEqual({ "a.md": "text\n" });
  expect(readTexts({ kind: "configuration", path: file, files: [{ path: file, sha256 }] })).toEqual({
    [file]: "text\n",
  });
});
