import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readToken } from "./token.ts";

// oxfmt-ignore
const EXPOSED = [
  { title: "that its group may read",        spoil: (file: string) => chmodSync(file, 0o640) },
  { title: "that others may read",           spoil: (file: string) => chmodSync(file, 0o604) },
  { title: "that is a link",                 spoil: (file: string) => { renameSync(file, `${file}.else`); symlinkSync(`${file}.else`, file); } },
  { title: "with a second name",             spoil: (file: string) => linkSync(file, `${file}.else`) },
] as const;

test("a token file that others could read or replace is renewed, and the rest of a killed renewal is removed", () => {
  for (const { title, spoil } of EXPOSED) {
    const state_dir = mkdtempSync(join(tmpdir(), "autonous-token-"));
    onTestFinished(() => rmSync(state_dir, { recursive: true }));
    const { token, token_file } = readToken(state_dir);
    expect(readToken(state_dir).token, title).toBe(token);
    spoil(token_file);
    symlinkSync("/nowhere", `${token_file}.new`);
    const after = readToken(state_dir);
    expect(after.token, title).not.toBe(token);
    expect([statSync(token_file).mode & 0o777, lstatSync(token_file).isFile()], title).toEqual([0o600, true]);
    expect(readFileSync(token_file, "utf8"), title).toBe(after.token);
  }
});
