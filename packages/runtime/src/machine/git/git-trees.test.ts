import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratchWatch } from "../../../../../test/support/scratch-watch.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";

/** Space for copies of a few small files only: all others come from git. */
const FEW_COPIES = { store_files: 1, call_bytes: 128 << 10 };
const FILES = 120;

/** A folder for a repository of several hundred files. Each command runs as in a new process. */
async function scratchTree(limits: Partial<TreeLimits> = {}) {
  const folder = await scratchWatch({ limits: { ...FEW_COPIES, ...limits } });
  const write = (name: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(folder.root, name)), { recursive: true });
    writeFileSync(join(folder.root, name), content);
  };
  return {
    ...folder,
    sh: (script: string): void => folder.sh(`set -e; ${script}`),
    write,
    run: (script: string) => folder.runAgain(`set -e; ${script}`, { confirmed: true }),
    makeFiles(): void {
      for (let each = 0; each < FILES; each++) {
        write(`src/part${each % 10}/file${each}.ts`, `// ${each}\n${`line of ${each}\n`.repeat(60 + (each % 150))}`);
      }
      folder.sh("ln -s part0/file0.ts src/link; chmod 755 src/part1/file1.ts");
    },
  };
}

const COMMIT = "git add -A && git commit -qm one";
/** Two versions of each file, so that the pack has deltas. */
const TWO_COMMITS = `${COMMIT}; for f in src/part*/*; do echo more >> $f; done; ${COMMIT}`;

// oxfmt-ignore
const REPOSITORIES = [
  { title: "loose objects",      init: "git init -q",                         commit: COMMIT },
  { title: "a pack with deltas", init: "git init -q",                         commit: `${TWO_COMMITS}; git gc -q` },
  { title: "two packs",          init: "git init -q",                         commit: `${COMMIT}; git repack -dq; for f in src/part*/*; do echo more >> $f; done; ${COMMIT}; git repack -dq` },
  { title: "index version 4",    init: "git init -q",                         commit: `${COMMIT}; git update-index --index-version 4` },
  { title: "SHA-256, packed",    init: "git init -q --object-format=sha256",  commit: `${TWO_COMMITS}; git gc -q` },
] as const;

// oxfmt-ignore
const COMMANDS = [
  { what: "rewrites all",                cmd: "for f in src/part*/*; do echo changed >> $f; done",     least: FILES },
  { what: "replaces all by one content", cmd: "for f in src/part*/*; do echo same > $f; done",         least: FILES },
  { what: "changes all modes",           cmd: "chmod 640 src/part*/*",                                 least: FILES },
  { what: "renames folders",             cmd: "mv src/part1 src/other; mv src lib",                    least: FILES },
  { what: "removes all with git",        cmd: "rm -rf .git src",                                       least: FILES },
  { what: "packs again, then rewrites",  cmd: "git repack -adq; git prune-packed; for f in src/part*/*; do echo changed > $f; done", least: FILES },
  { what: "prunes and removes",          cmd: "git rm -rqf src; git reflog expire --expire=now --all; git update-ref -d HEAD; git gc -q --prune=now", least: FILES },
  { what: "turns files into folders",    cmd: "for f in src/part0/*; do rm $f; mkdir $f; echo in > $f/in; done", least: FILES / 10 },
] as const;

for (const { title, init, commit } of REPOSITORIES) {
  test(`with ${title}, commands that change most files are undone byte for byte`, async () => {
    const { sh, makeFiles, run, snapshot: look, undo } = await scratchTree();
    sh(`mkdir -p src; ${init}`);
    makeFiles();
    sh(commit);
    const before = look();

    for (const { what, cmd, least } of COMMANDS) {
      const { files, undo_id } = await run(cmd);

      expect(
        files.filter(({ undoable }) => !undoable),
        what,
      ).toEqual([]);
      expect(files.length, what).toBeGreaterThanOrEqual(least);
      expect(look(), what).not.toEqual(before);
      expect((await undo(undo_id)).ok, what).toBe(true);
      expect(look(), what).toEqual(before);
    }
  });
}

const REWRITE = "for f in $(git ls-files | grep -v gitattributes); do [ -L $f ] || echo changed >> $f; done";
const SAME_SIZE_FILTER = "git config filter.swap.clean 'tr a-z n-za-m'; git config filter.swap.smudge 'tr a-z n-za-m'";

/** Git's version of these files, or its index entry, differs from their content. */
// oxfmt-ignore
const CONVERTED = [
  { title: "core.autocrlf",            set: "git config core.autocrlf true",                                    after: "" },
  { title: "an included autocrlf",     set: "printf '[core]\\n autocrlf = true\\n' > .git/more; git config include.path more", after: "" },
  { title: "eol=crlf",                 set: "echo '*.ts text eol=crlf' > .gitattributes",                      after: "" },
  { title: "attributes in a folder",   set: "echo '* eol=crlf' > src/.gitattributes",                           after: "" },
  { title: "info/attributes",          set: "mkdir -p .git/info; echo '* text eol=crlf' > .git/info/attributes", after: "" },
  { title: "ident",                    set: "echo '*.ts ident' > .gitattributes; for f in src/part*/*; do echo '$Id$' >> $f; done", after: "" },
  { title: "an encoding",              set: "echo '*.ts working-tree-encoding=UTF-16' > .gitattributes; for f in src/part*/*; do iconv -t UTF-16 $f > t; mv t $f; done", after: "" },
  { title: "a filter of the same size", set: `${SAME_SIZE_FILTER}; echo '*.ts filter=swap' > .gitattributes`,  after: "" },
  { title: "a filter by a macro",      set: `${SAME_SIZE_FILTER}; printf '[attr]m filter=swap\\n*.ts m\\n' > .gitattributes`, after: "" },
  { title: "files changed since",      set: "true", after: "for f in src/part[0-2]/*; do echo since >> $f; done; git add src/part0" },
  { title: "files assumed unchanged",  set: "true", after: "git update-index --assume-unchanged src/part1/file1.ts; echo since >> src/part1/file1.ts" },
  { title: "files outside a sparse checkout", set: "true", after: "git update-index --skip-worktree src/part2/file2.ts; echo since >> src/part2/file2.ts" },
  { title: "a split index",            set: "true", after: "git update-index --split-index; echo since >> src/part1/file1.ts" },
  { title: "a file to be added",       set: "true", after: "echo new > src/new.ts; git add -N src/new.ts" },
  { title: "other times",              set: "true", after: "touch src/part1/*; cp -p src/part2/file2.ts t; mv t src/part2/file2.ts" },
  { title: "an index without times",   set: "true", after: "git read-tree HEAD" },
] as const;

for (const { title, set, after } of CONVERTED) {
  test(`with ${title}, undo restores the content of the files, not git's version`, async () => {
    const { sh, makeFiles, run, snapshot: look, undo } = await scratchTree({ call_bytes: 64 << 20 });
    sh("mkdir -p src; git init -q");
    makeFiles();
    sh(`${set}; ${COMMIT}; rm -rf src; git checkout -q .; ${after || "true"}`);
    const before = look();

    const { files, undo_id } = await run(`${REWRITE}; rm -rf .git`);

    expect(files.filter(({ undoable }) => !undoable)).toEqual([]);
    expect((await undo(undo_id)).ok).toBe(true);
    expect(look()).toEqual(before);
  });
}

/**
 * Gives an entry of a version 2 index the current times and inode of its file, as git would at the same moment.
 */
function refreshEntry(root: string, name: string): void {
  const path = join(root, ".git/index");
  const index = readFileSync(path);
  const stats = lstatSync(join(root, name), { bigint: true });
  const at = index.indexOf(`${name}\0`) - 62;
  const times = [
    stats.ctimeNs / 10n ** 9n,
    stats.ctimeNs % 10n ** 9n,
    stats.mtimeNs / 10n ** 9n,
    stats.mtimeNs % 10n ** 9n,
  ];
  for (const [each, time] of times.entries()) index.writeUInt32BE(Number(time), at + each * 4);
  index.writeUInt32BE(Number(stats.ino % 2n ** 32n), at + 20);
  const body = index.subarray(0, -20);
  writeFileSync(path, Buffer.concat([body, createHash("sha1").update(body).digest()]));
}

test("a file that changed at the moment git wrote its index is restored correctly", async () => {
  const { root, sh, write, makeFiles, run, snapshot: look, undo } = await scratchTree({ call_bytes: 64 << 20 });
  sh("mkdir -p src; git init -q");
  makeFiles();
  write("src/racy.ts", "before\n");
  sh(COMMIT);
  write("src/racy.ts", "behind\n");
  refreshEntry(root, "src/racy.ts");
  const { atime, mtime } = lstatSync(join(root, "src/racy.ts"));
  utimesSync(join(root, ".git/index"), atime, mtime);
  const before = look();

  const { undo_id } = await run("rm -rf src");

  expect((await undo(undo_id)).ok).toBe(true);
  expect(look()).toEqual(before);
});

test("objects that a command overwrote are reported as lost, and undo says so", async () => {
  const { sh, makeFiles, run, undo } = await scratchTree();
  sh("mkdir -p src; git init -q");
  makeFiles();
  sh(COMMIT);

  const { files, undo_id } = await run(
    "for f in $(find .git/objects -type f | head -20); do chmod u+w $f; echo broken > $f; done; rm -rf src",
  );

  const lost = files.filter(({ undoable }) => !undoable).map(({ path }) => path);
  expect(lost.filter((path) => path.startsWith(".git/objects/"))).toHaveLength(20);
  expect((await undo(undo_id)).error?.message).toMatch(
    /^Restored \d+ paths; cannot be undone: .*its old content no longer exists/,
  );
});

test("untracked files and files over the limit are reported as before", async () => {
  const { sh, makeFiles, run, undo, snapshot: look } = await scratchTree({ call_bytes: 100_000, file_bytes: 1000 });
  sh("mkdir -p src; git init -q");
  makeFiles();
  sh(`${COMMIT}; head -c 5000 /dev/zero > untracked.bin; echo small > untracked.txt`);
  const before = look();

  const { files, undo_id } = await run("rm -rf src untracked.bin untracked.txt");

  expect(files.filter(({ undoable }) => !undoable).map(({ path }) => path)).toEqual(["untracked.bin"]);
  expect((await undo(undo_id)).ok).toBe(false);
  expect(look()).toEqual(before.filter((line) => !line.includes("untracked.bin")));
});

test("an index that a command wrote is not trusted by the next process", async () => {
  const { root, sh, write, makeFiles, run, snapshot: look, undo } = await scratchTree({ call_bytes: 64 << 20 });
  sh("mkdir -p src; git init -q");
  makeFiles();
  write("src/mine.ts", "mine 1\n");
  write("src/other.ts", "other!\n");
  sh(`${COMMIT}; sleep 0.1; git update-index --refresh -q; touch .git/index`);
  await run("true");
  const before = look();
  const oid = (name: string): Buffer =>
    Buffer.from(execFileSync("git", ["rev-parse", `HEAD:${name}`], { cwd: root, encoding: "utf8" }).trim(), "hex");

  const index = readFileSync(join(root, ".git/index"));
  oid("src/other.ts").copy(index, index.indexOf("src/mine.ts\0") - 22);
  write(".git/index", index);
  const { undo_id } = await run("rm -rf src");

  expect((await undo(undo_id)).ok).toBe(true);
  expect(look().filter((line) => line.includes("/root/src/"))).toEqual(
    before.filter((line) => line.includes("/root/src/")),
  );
});
