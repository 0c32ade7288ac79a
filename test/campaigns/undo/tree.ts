import { execFileSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const LONG_NAME = `${"long".repeat(62)}.txt`;

/** Files, folders, links, modes, odd names, repositories with a history: what commands of the grammar find. */
export function makeTree(root: string): void {
  const write = (name: string | Buffer, content: string | Buffer): void => {
    const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)]);
    if (typeof name === "string") mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(path, content);
  };
  for (const name of ["a.txt", "b.txt", "src/c.ts", "src/deep/d.ts", "docs/e.md", "with space/f g.txt", "é.txt"]) {
    write(name, `${name}\n`.repeat(20));
  }
  write("data.bin", Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)));
  write("run.sh", "#!/bin/sh\necho run\n");
  write(".gitignore", "build/\n");
  write("build/out.js", "built\n");
  write(LONG_NAME, "long\n");
  write("odd/new\nline", "odd\n");
  write(Buffer.from("odd/\xff\xfe", "latin1"), "bytes\n");
  write("locked/in.txt", "in\n");
  write("locked/deep/in.txt", "deep\n");
  write("sparse.img", "start");
  truncateSync(join(root, "sparse.img"), 1 << 20);
  write("linked/one", "linked\n");
  linkSync(join(root, "linked/one"), join(root, "linked/two"));
  linkSync(join(root, "linked/one"), join(root, "src/three"));
  chmodSync(join(root, "run.sh"), 0o755);
  write("setuid", "setuid\n");
  chmodSync(join(root, "setuid"), 0o4755);
  mkdirSync(join(root, "empty/inner"), { recursive: true });
  mkdirSync(join(root, "sticky"));
  chmodSync(join(root, "sticky"), 0o1777);
  symlinkSync("a.txt", join(root, "link"));
  symlinkSync("nowhere", join(root, "dangling"));
  symlinkSync("src", join(root, "tofolder"));
  makeRepositories(root, write);
  chmodSync(join(root, "locked/deep"), 0o555);
  chmodSync(join(root, "locked"), 0o555);
}

/** One with two branches, a worktree and a stash; one inside of it; a bare one beside its files. */
function makeRepositories(root: string, write: (name: string, content: string) => void): void {
  const git = (folder: string, ...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
      cwd: join(root, folder),
      stdio: "ignore",
      env: { PATH: process.env["PATH"], HOME: root, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    });
  const begin = (folder: string): void => {
    git(folder, "init", "-q", "-b", "main");
    git(folder, "config", "user.name", "a");
    git(folder, "config", "user.email", "a@example.org");
    git(folder, "add", "-A");
    git(folder, "commit", "-qm", "one");
  };
  begin(".");
  write("a.txt", "changed\n");
  git(".", "commit", "-qam", "two");
  git(".", "branch", "other", "HEAD~1");
  write("b.txt", "stashed\n");
  git(".", "stash", "-q");
  write("nested/g.txt", "nested\n");
  begin("nested");
  git(".", "clone", "-q", "--bare", "nested", "bare.git");
  git(".", "worktree", "add", "-q", "tree", "other");
  write("untracked.txt", "untracked\n");
}

/** Everything below a folder, as lines that are the same only if the tree is: contents, modes, links of both kinds. */
export function snapshot(root: string): string {
  const rows: string[] = [];
  const firstNames = new Map<number, string>();
  const visit = (path: Buffer): void => {
    const stats = lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    const name = JSON.stringify(path.toString("latin1"));
    if (stats.isSymbolicLink()) rows.push(`${name} -> ${readlinkSync(path, "latin1")}`);
    else if (stats.isFile()) {
      const first = firstNames.get(stats.ino) ?? name;
      firstNames.set(stats.ino, first);
      rows.push(`${name} ${mode} ${first === name ? contentOf(path, stats.size) : `same file as ${first}`}`);
    } else rows.push(`${name} ${mode} ${stats.isDirectory() ? "folder" : "other"}`);
    if (!stats.isDirectory()) return;
    // What is in a folder that its owner closed counts too.
    const isClosed = !isOpen(path, constants.R_OK | constants.X_OK);
    if (isClosed) chmodSync(path, stats.mode | 0o700);
    const names = readdirSync(path, { encoding: "buffer" }).sort((one, other) => one.compare(other));
    for (const each of names) visit(Buffer.concat([path, Buffer.from("/"), each]));
    if (isClosed) chmodSync(path, stats.mode);
  };
  visit(Buffer.from(root));
  return rows.join("\n");
}

/** One character a byte. A large file is told by its size, one that is closed to its owner by that. */
function contentOf(path: Buffer, size: number): string {
  if (!isOpen(path, constants.R_OK)) return "closed";
  return size > LARGE_BYTES ? `${size} bytes` : JSON.stringify(readFileSync(path, "latin1"));
}

function isOpen(path: Buffer, access: number): boolean {
  try {
    accessSync(path, access);
    return true;
  } catch {
    return false;
  }
}

const LARGE_BYTES = 4 << 20;
const MAX_ROWS = 12;
const MAX_ROW = 160;

/** The rows that only one of two snapshots has, shortened. */
export function differenceOf(before: string, after: string): string {
  const [old, now] = [new Set(before.split("\n")), new Set(after.split("\n"))];
  const rows = [
    ...[...old].filter((row) => !now.has(row)).map((row) => `  - ${row}`),
    ...[...now].filter((row) => !old.has(row)).map((row) => `  + ${row}`),
  ];
  return rows
    .slice(0, MAX_ROWS)
    .map((row) => row.slice(0, MAX_ROW))
    .join("\n");
}
