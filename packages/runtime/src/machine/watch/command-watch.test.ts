import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import type { Stats } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ENVIRONMENT, scratchWatch } from "../../../../../test/support/scratch-watch.ts";
import type { CommandChanges } from "../../contract/command-changes.ts";

function told({ files }: CommandChanges): string[] {
  return files.map(({ change, path, undoable }) => `${change} ${path}${undoable ? "" : " (stays)"}`);
}

const FILES = { "a.txt": "a\n", "b.txt": "b\n", "src/c.txt": "c\n", "src/deep/d.txt": "d\n", "run.sh": "#!/bin/sh\n" };

const COMMANDS = [
  { title: "nothing", script: "cat a.txt src/*.txt; ls -laR", files: [] },
  { title: "a file made in new folders", script: "mkdir -p x/y && echo n > x/y/n.txt", files: ["added x/y/n.txt"] },
  { title: "a file overwritten in place", script: "echo longer > a.txt", files: ["changed a.txt"] },
  { title: "a file edited by sed", script: "sed -i s/a/z/ a.txt", files: ["changed a.txt"] },
  { title: "a file removed", script: "rm a.txt", files: ["removed a.txt"] },
  { title: "a folder removed", script: "rm -rf src", files: ["removed src/c.txt", "removed src/deep/d.txt"] },
  { title: "a file moved", script: "mv a.txt src/e.txt", files: ["removed a.txt", "added src/e.txt"] },
  { title: "a file moved over another", script: "mv a.txt b.txt", files: ["removed a.txt", "changed b.txt"] },
  { title: "a file copied", script: "cp -p a.txt c.txt", files: ["added c.txt"] },
  { title: "a new file that is empty", script: ": > e.txt", files: ["added e.txt"] },
  { title: "a file emptied", script: ": > a.txt", files: ["changed a.txt"] },
  { title: "a touch, which changes nothing", script: "touch a.txt src/c.txt", files: [] },
  { title: "a file rewritten with its own content", script: "cp a.txt t && cat t > a.txt && rm t", files: [] },
  {
    title: "the same size and times",
    script: "touch -r a.txt r; echo X > a.txt; touch -r r a.txt; rm r",
    files: ["changed a.txt"],
  },
  {
    title: "another file of the same size and times",
    script: "echo X > t; touch -r a.txt t; mv t a.txt",
    files: ["changed a.txt"],
  },
  { title: "a name with a line end", script: "echo n > $'new\\nline.txt'", files: ["added new\nline.txt"] },
  {
    title: "names of all sorts",
    script: "echo n > '  '; echo n > é; echo n > '*'; echo n > -rf",
    files: ["added   ", "added *", "added -rf", "added é"],
  },
  { title: "a hard link", script: "ln a.txt h.txt", files: ["added h.txt"] },
  { title: "a mode", script: "chmod 700 run.sh", files: ["mode run.sh"] },
  { title: "an unreadable file", script: "echo x > a.txt; chmod 000 a.txt", files: ["changed a.txt"] },
  { title: "modes of folders", script: "chmod 700 src; chmod 555 src/deep", files: ["mode src/", "mode src/deep/"] },
  {
    title: "a folder that cannot be entered",
    script: "echo x > src/c.txt; rm src/deep/d.txt; chmod 000 src/deep src",
    files: ["mode src/", "changed src/c.txt", "mode src/deep/", "removed src/deep/d.txt"],
  },
  {
    title: "a file in a folder that was closed",
    script: "rm src/c.txt; chmod 555 src",
    files: ["mode src/", "removed src/c.txt"],
  },
  {
    title: "modes of everything",
    script: "chmod -R 777 .",
    files: [
      "mode ./",
      "mode a.txt",
      "mode b.txt",
      "mode empty/",
      "mode run.sh",
      "mode src/",
      "mode src/c.txt",
      "mode src/deep/",
      "mode src/deep/d.txt",
    ],
  },
  { title: "empty folders", script: "mkdir -p x/y; rmdir empty", files: ["removed empty/", "added x/y/"] },
  { title: "links", script: "ln -s a.txt l; ln -sfn src k; rm old", files: ["added k", "added l", "removed old"] },
  { title: "a link to nowhere", script: "ln -s nowhere/at/all l", files: ["added l"] },
  { title: "a link to another folder", script: "ln -sfn b.txt old", files: ["changed old"] },
  { title: "a file that became a link", script: "ln -sf b.txt a.txt", files: ["changed a.txt"] },
  { title: "a link that became a file", script: "rm old; echo x > old", files: ["changed old"] },
  { title: "a file that became a folder", script: "rm a.txt; mkdir a.txt; echo n > a.txt/n", files: ["added a.txt/n"] },
  {
    title: "a folder that became a file",
    script: "rm -r src; echo n > src",
    files: ["changed src", "removed src/c.txt", "removed src/deep/d.txt"],
  },
  {
    title: "a folder that became a link",
    script: "mv src t; ln -s t src",
    files: ["changed src", "removed src/c.txt", "removed src/deep/d.txt", "added t/c.txt", "added t/deep/d.txt"],
  },
  { title: "a pipe", script: "mkfifo p", files: ["added p"] },
  {
    title: "names that are not valid UTF-8",
    script: "echo n > $'\\xff\\xfe.txt'; mkdir $'\\xff'; echo n > $'\\xff/n'",
    files: ["added \ufffd/n", "added \ufffd\ufffd.txt"],
  },
  {
    title: "everything moved away",
    script: "mkdir /tmp/gone.$$; mv * /tmp/gone.$$; rm -r /tmp/gone.$$",
    files: [
      "removed a.txt",
      "removed b.txt",
      "removed empty/",
      "removed old",
      "removed run.sh",
      "removed src/c.txt",
      "removed src/deep/d.txt",
    ],
  },
  {
    title: "everything packed",
    script: "gzip -rf .",
    files: [
      "removed a.txt",
      "added a.txt.gz",
      "removed b.txt",
      "added b.txt.gz",
      "removed old",
      "added old.gz",
      "removed run.sh",
      "added run.sh.gz",
      "removed src/c.txt",
      "added src/c.txt.gz",
      "removed src/deep/d.txt",
      "added src/deep/d.txt.gz",
    ],
  },
] as const;

/** A plain user cannot read each file, and opening one is a change of it: then its size has to do. */
function contentOf(path: Buffer, { mode, size }: Stats): string {
  return process.getuid?.() === 0 || (mode & 0o400) !== 0 ? readFileSync(path, "latin1") : `${size} bytes`;
}

/** Looks into a folder that its own mode closes to a plain user, and leaves it as it was. */
function inside(folder: Buffer, { mode }: Stats, look: () => void): void {
  const isClosed = (mode & 0o500) !== 0o500;
  if (isClosed) chmodSync(folder, (mode & 0o7777) | 0o700);
  try {
    look();
  } finally {
    if (isClosed) chmodSync(folder, mode & 0o7777);
  }
}

/** Everything below a folder: kinds, modes, contents, where links lead. */
function snapshot(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (path: Buffer): void => {
    const stats = lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    const name = path.toString("latin1").slice(root.length);
    if (stats.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else if (stats.isFile()) found[name] = `${mode} ${contentOf(path, stats)}`;
    else found[name] = stats.isDirectory() ? `${mode} folder` : "other";
    if (!stats.isDirectory()) return;
    inside(path, stats, () => {
      for (const entry of readdirSync(path, { encoding: "buffer" })) {
        if (entry.toString() !== ".agent") visit(Buffer.concat([path, Buffer.from("/"), entry]));
      }
    });
  };
  visit(Buffer.from(root));
  return found;
}

for (const { title, script, files } of COMMANDS) {
  test(`changes of a command are listed and undone: ${title}`, async () => {
    const { root, make, run, undo } = await scratchWatch();
    await make({ ...FILES, "empty/": "", old: "-> a.txt" });
    const before = snapshot(root);

    const changes = await run(script);
    const after = snapshot(root);

    expect(told(changes)).toEqual(files);
    expect(changes).toMatchObject({ taken_back: [], left_out: [], overlapped: false });
    expect(changes.undo_id === undefined).toBe(files.length === 0);
    if (changes.undo_id === undefined) return;
    const undone = await undo(changes.undo_id);
    expect(undone.error).toBeNull();
    expect(snapshot(root)).toEqual(before);
    if (title === "a pipe") return; // it is not made again
    expect((await undo(undone.artifacts.undo_id)).error).toBeNull();
    expect(snapshot(root)).toEqual(after);
  });
}

const LIMITS = [
  {
    title: "a file that is too large",
    limits: { file_bytes: 10 },
    undoable: ["small.txt"],
    why: /had 20 bytes.*at most 10/,
  },
  { title: "more files than are stored", limits: { keep_files: 1 }, undoable: 1, why: /was not stored: limit reached/ },
  {
    title: "more bytes than are stored",
    limits: { call_bytes: 22 },
    undoable: 1,
    why: /was not stored: limit reached/,
  },
] as const;

for (const { title, limits, undoable, why } of LIMITS) {
  test(`beyond the limits a change is listed but not undoable: ${title}`, async () => {
    const { make, run, undo, read } = await scratchWatch({ limits });
    await make({ "small.txt": "small\n", "large.txt": "x".repeat(20) });

    const changes = await run("echo new > small.txt; echo new > large.txt");

    expect(changes.files.map(({ path }) => path)).toEqual(["large.txt", "small.txt"]);
    const can = changes.files.filter((each) => each.undoable).map(({ path }) => path);
    if (typeof undoable === "number") expect(can).toHaveLength(undoable);
    else expect(can).toEqual(undoable);
    expect(changes.files.find((each) => !each.undoable)?.why_not).toMatch(why);
    const undone = await undo(changes.undo_id);
    expect(undone.error).toMatchObject({ code: "NotFound", message: expect.stringMatching(why) as string });
    for (const path of can) expect(read(path)).not.toBe("new\n");
  });
}

test("folders beyond the file limit are left out and reported, and nothing in them counts as new", async () => {
  const { make, run } = await scratchWatch({ limits: { look_files: 2 } });
  await make({ "one/a": "", "one/b": "", "two/a": "", "two/b": "", "three/a": "", "three/b": "" });

  const first = await run("true");
  const second = await run("echo x > one/a; echo x > two/a; echo x > three/a");

  expect(told(first)).toEqual([]);
  expect(first.left_out).toHaveLength(2);
  expect(first.left_out[0]?.why).toMatch(/more than 2 files/);
  expect(second.files).toHaveLength(1);
});

test("small ignored folders are stored, large ones are left out and reported", async () => {
  const { make, run, undo, names } = await scratchWatch({ limits: { ignored_files: 3 } });
  await make({ ".gitignore": "# built\n/dist/\nnode_modules\n!keep\n", "src/node_modules/a": "a" });
  await make({ "dist/a.js": "a", "dist/b/c.js": "c", ...four("node_modules/m") });
  const before = names();

  const changes = await run("rm -r dist; echo x > node_modules/m1; echo y > src/node_modules/a");

  expect(told(changes)).toEqual(["removed dist/a.js", "removed dist/b/c.js", "changed src/node_modules/a"]);
  expect(changes.left_out).toEqual([
    { path: "node_modules", why: expect.stringMatching(/git ignores it.*more than 3/) as string },
  ]);
  expect((await undo(changes.undo_id)).error?.message).toMatch(/cannot be undone: "node_modules\/" \(git ignores it/);
  expect(names()).toEqual(before);

  const removed = await run("rm -r node_modules");
  expect(told(removed)).toEqual(["removed node_modules/ (stays)"]);
  const made = await run("mkdir node_modules; touch node_modules/{1,2,3,4,5}");
  expect(told(made)).toEqual(["added node_modules/ (stays)"]);
});

function four(prefix: string): Record<string, string> {
  return Object.fromEntries([1, 2, 3, 4].map((each) => [`${prefix}${each}`, ""]));
}

test("an ignored folder that grows beyond the limit is reported, and nothing in it counts as removed", async () => {
  const { make, run } = await scratchWatch({ limits: { ignored_files: 3 } });
  await make({ ".gitignore": "out", "out/a": "a" });

  const changes = await run("touch out/{1,2,3,4}");

  expect(told(changes)).toEqual([]);
  expect(changes.left_out).toMatchObject([{ path: "out" }]);
});

test("a second snapshot does not read unchanged files", async () => {
  const { make, run, root } = await scratchWatch();
  await make(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}.txt`, `${at}`.repeat(100_000)])));
  const readBy = async (work: () => Promise<unknown>): Promise<number> => {
    const bytes = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
    const before = bytes();
    await work();
    return bytes() - before;
  };
  const first = await readBy(() => run("true"));
  // What was changed in the very moment of a snapshot is read again, so the next one must not be of that kind.
  await expect.poll(() => Date.now() - statSync(join(root, "19.txt")).ctimeMs).toBeGreaterThan(50);
  await run("true");
  const second = await readBy(() => run("true"));

  expect(first).toBeGreaterThan(2_000_000);
  expect(second).toBeLessThan(500_000);
});

// oxfmt-ignore
const PLANTED = [
  { title: "a hook",                  script: "echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout", taken: ["removed .git/hooks/post-checkout"] },
  { title: "a hook changed",          script: "echo evil >> .git/hooks/pre-commit",                   taken: ["restored .git/hooks/pre-commit"] },
  { title: "a hook replaced",         script: "echo evil > x; mv x .git/hooks/pre-commit",            taken: ["restored .git/hooks/pre-commit"] },
  { title: "a hook made runnable",    script: "chmod +x .git/hooks/pre-commit",                       taken: ["restored .git/hooks/pre-commit"] },
  { title: "a hook made a link",      script: "ln -sf /bin/true .git/hooks/pre-commit",               taken: ["restored .git/hooks/pre-commit"] },
  { title: "a hook made a folder",    script: "rm .git/hooks/pre-commit; mkdir -p .git/hooks/pre-commit/a; touch .git/hooks/pre-commit/a/b", taken: ["removed .git/hooks/pre-commit/a/b", "restored .git/hooks/pre-commit"] },
  { title: "git's configuration",     script: "git config core.fsmonitor evil",                       taken: ["restored .git/config"] },
  { title: "a link to hooks",         script: "mv .git/hooks .git/h; ln -s /tmp .git/hooks; mv .git/h/pre-commit x; rm -r .git/h; mkdir y; mv x y; rm -r y", taken: ["removed .git/hooks"] },
  { title: "another repository",      script: "mkdir sub; echo 'gitdir: /tmp' > sub/.git",            taken: ["removed sub/.git"] },
  { title: "hooks in new folders",    script: "mkdir -p .husky/_; echo evil > .husky/_/x; echo evil > .husky/pre-commit", taken: ["removed .husky/_/x", "removed .husky/pre-commit"] },
  { title: "a file that git ignores", script: "mkdir .vscode; echo '{}' > .vscode/tasks.json; echo evil > .envrc", taken: ["removed .envrc", "removed .vscode/tasks.json"] },
  { title: "CI",                      script: "echo evil > .github/workflows/b.yml; sed -i s/on/no/ .github/workflows/a.yml", taken: ["removed .github/workflows/b.yml", "restored .github/workflows/a.yml"] },
  { title: "a name in another case",  script: "mkdir -p .GitHub/Workflows; echo e > .GitHub/Workflows/x.yml", taken: ["removed .GitHub/Workflows/x.yml"] },
  { title: "a name that is not valid UTF-8", script: "mkdir -p .husky; echo e > $'.husky/\\xff'",            taken: ["removed .husky/\ufffd"] },
  { title: "a folder that is not valid UTF-8",     script: "echo e >> $'\\xff/.npmrc'",                            taken: ["restored \ufffd/.npmrc"] },
  { title: "a start file",            script: "echo evil > .bashrc; echo fine > fine.txt; rm fine.txt", taken: ["removed .bashrc"] },
  { title: "a link to a folder of such files", script: "mkdir p; echo '{}' > p/tasks.json; ln -s p .vscode; ln -s ../p .git/modules; rm -r p", taken: ["removed .git/modules", "removed .vscode"] },
  { title: "a closed folder",          script: "mkdir -p .ssh/x; echo key > .ssh/authorized_keys; touch .ssh/x/y", taken: ["removed .ssh", "removed .ssh/authorized_keys", "removed .ssh/x", "removed .ssh/x/y"] },
  { title: "an empty closed folder",   script: "mkdir .aws",                                           taken: ["removed .aws"] },
  { title: "a closed folder in one that is only named like a key", script: "mkdir -p x.pem/.ssh; echo key > x.pem/.ssh/authorized_keys", taken: ["removed x.pem/.ssh", "removed x.pem/.ssh/authorized_keys"] },
] as const;

for (const { title, script, taken } of PLANTED) {
  test(`unapproved changes of run-later and closed files are reverted at once: ${title}`, async () => {
    const { make, root, run, names, read } = await scratchWatch();
    execFileSync("git", ["init", "-q"], { cwd: root, env: ENVIRONMENT });
    await make({
      ".gitignore": ".vscode\n.envrc\n",
      ".github/workflows/a.yml": "on: push\n",
      ".git/hooks/pre-commit": "old",
    });
    execFileSync("bash", ["-c", "mkdir $'\\xff'; echo old > $'\\xff/.npmrc'"], { cwd: root });
    chmodSync(join(root, ".git/hooks/pre-commit"), 0o644);
    const config = read(".git/config");
    const before = names().filter((name) => title !== "a link to hooks" || !name.startsWith(".git/hooks"));

    const changes = await run(script);

    expect(changes.taken_back.map(({ outcome, path }) => `${outcome} ${path}`).sort()).toEqual([...taken].sort());
    for (const { why } of changes.taken_back) expect(why).not.toBe("");
    expect(names()).toEqual(before);
    expect(read(".git/config")).toBe(config);
    expect(read(".github/workflows/a.yml")).toBe("on: push\n");
    if (title === "a link to hooks") return;
    expect(read(".git/hooks/pre-commit")).toBe("old");
    expect(lstatSync(join(root, ".git/hooks/pre-commit")).mode).toBe(0o100644);
    expect(told(changes)).toEqual([]);
  });
}

test("an approved change stays, and can be undone", async () => {
  const { make, run, undo, names, read } = await scratchWatch();
  await make({ ".npmrc": "old" });

  const changes = await run("echo new > .npmrc; mkdir .husky; echo new > .husky/pre-commit; echo k > server.key", {
    confirmed: true,
  });

  expect(changes.taken_back).toEqual([]);
  expect(told(changes)).toEqual(["added .husky/pre-commit", "changed .npmrc", "added server.key"]);
  expect((await undo(changes.undo_id)).error).toBeNull();
  expect(read(".npmrc")).toBe("old");
  expect(names()).toEqual([".npmrc"]);
});

test("keys that a command created stay, as installers create some; undo removes them without reading them", async () => {
  const { make, run, undo, read, names, changer, root } = await scratchWatch();
  await make({ "a.txt": "a" });
  const before = names();

  const changes = await run(
    "mkdir -p venv/certifi; echo k > venv/certifi/cacert.pem; echo k > id_rsa; ln -s a.txt b.key",
  );

  expect(changes.taken_back).toEqual([]);
  expect(told(changes)).toEqual(["added b.key", "added id_rsa", "added venv/certifi/cacert.pem"]);
  expect(read("venv/certifi/cacert.pem")).toBe("k\n");
  const [record] = await changer.undoLog.find({ undo_id: changes.undo_id ?? "" });
  expect(record?.files.find(({ path }) => path === "id_rsa")?.after).toMatchObject({
    sha256: expect.stringMatching(/^identity:/) as string,
  });
  writeFileSync(join(root, "id_rsa"), "K\n");
  expect((await undo(changes.undo_id)).error?.code).toBe("Stale");
  expect((await undo(changes.undo_id)).error?.message).toContain("id_rsa");
  expect((await run("rm id_rsa")).files).toMatchObject([{ path: "id_rsa", undoable: false }]);
  expect((await undo(changes.undo_id)).error).toBeNull();
  expect(names()).toEqual(before);
});

test("undo does not remove a key that may have been moved by the command", async () => {
  const { make, run, undo, read } = await scratchWatch();
  await make({ "server.key": "secret" });

  const changes = await run("cat server.key > moved.pem; rm server.key; echo b > b.txt");

  expect(told(changes)).toEqual(["added b.txt", "added moved.pem (stays)", "removed server.key (stays)"]);
  expect((await undo(changes.undo_id)).error?.message).toMatch(/"moved.pem" \(it is off limits/);
  expect(read("moved.pem")).toBe("secret");
});

test("a removed run-later file can be restored, and leaves no part of its folder", async () => {
  const { make, run, undo, names } = await scratchWatch();
  await make({ "clone/.git/config": "c", "clone/.git/HEAD": "h", "clone/a": "a" });
  const before = names();

  const changes = await run("rm -rf clone");

  expect(changes.taken_back).toEqual([]);
  expect(names()).toEqual([]);
  expect((await undo(changes.undo_id)).error).toBeNull();
  expect(names()).toEqual(before);
});

test("a repository moved with its folder keeps its hooks, one moved out of its folder does not", async () => {
  const { make, run, names } = await scratchWatch();
  await make({ "one/.git/hooks/x": "x", "one/a": "a", "two/.git/hooks/y": "y", "two/a": "a" });

  const moved = await run("mkdir deep; mv one deep/three");
  const taken = await run("mv two/.git .git");

  expect(moved.taken_back).toEqual([]);
  expect(names()).toContain("deep/three/.git/hooks/x");
  expect(taken.taken_back.map(({ path }) => path)).toEqual([".git/hooks/y"]);
});

test("a moved key is not deleted, and never read", async () => {
  const { make, run, read, changer } = await scratchWatch();
  await make({ "server.key": "secret", "certs/a.pem": "secret" });

  const changes = await run("mkdir safe; mv server.key safe/server.key; mv certs certificates; echo new > b.txt");

  expect(changes.taken_back).toEqual([]);
  expect(read("safe/server.key")).toBe("secret");
  expect(read("certificates/a.pem")).toBe("secret");
  const [record] = await changer.undoLog.find({ undo_id: changes.undo_id ?? "" });
  expect(record?.files.map(({ path }) => path)).toEqual(["b.txt", "certificates", "certs", "safe"]);
});

test("an existing closed folder is not scanned, which is reported if no sandbox hides it", async () => {
  const open = await scratchWatch({ sandbox: "none" });
  await open.make({ ".ssh/config": "c" });
  const changes = await open.run("echo more >> .ssh/config");
  expect(told(changes)).toEqual([]);
  expect(changes.left_out).toMatchObject([{ path: ".ssh" }]);
});

const GIT = [
  { title: "HEAD removed", script: "rm -f .git/HEAD" },
  { title: "the repository removed", script: "rm -rf src .git" },
  { title: "the repository removed by a script", script: "python3 -c \"import shutil; shutil.rmtree('.git')\"" },
  { title: "a commit amended", script: "echo x >> a.txt; git commit -qam two --amend" },
  { title: "a branch removed", script: "git branch -D other" },
  { title: "a rebase", script: "git checkout -q other; git rebase -q main" },
  { title: "a hard reset", script: "echo lost > a.txt; git add -A; git reset -q --hard HEAD~1" },
  { title: "untracked files cleaned", script: "git clean -qfdx" },
  { title: "a stash dropped", script: "git stash -q -u; git stash drop -q" },
  { title: "objects packed and pruned", script: "git reflog expire --expire=now --all; git gc -q --prune=now" },
  {
    title: "objects overwritten",
    script: "chmod -R u+w .git/objects; find .git/objects -type f -exec sh -c 'echo x > \"$1\"' _ {} \\;",
  },
  { title: "an object store renamed", script: "mv .git/objects .git/elsewhere" },
] as const;

for (const { title, script } of GIT) {
  test(`changes of a repository are undone: ${title}`, async () => {
    const { root, run, undo } = await scratchWatch();
    const git = (...args: string[]) => execFileSync("git", args, { cwd: root, env: ENVIRONMENT, encoding: "utf8" });
    git("init", "-q", "-b", "main");
    mkdirSync(join(root, "src"));
    for (const name of ["a.txt", "src/b.txt"]) {
      writeFileSync(join(root, name), name);
      git("add", name);
      git("commit", "-qm", name);
    }
    git("branch", "other", "HEAD~1");
    writeFileSync(join(root, "c.txt"), "untracked");
    const before = snapshot(root);

    const changes = await run(script);

    expect(snapshot(root)).not.toEqual(before);
    expect((await undo(changes.undo_id)).error).toBeNull();
    expect(snapshot(root)).toEqual(before);
    expect(git("fsck", "--full")).not.toMatch(/missing|error/);
  });
}

test("a commit can be undone", async () => {
  const { root, run, undo } = await scratchWatch();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, env: ENVIRONMENT, encoding: "utf8" });
  git("init", "-q");
  writeFileSync(join(root, "a.txt"), "a");
  git("add", "a.txt");
  git("commit", "-qm", "one");
  const before = { log: git("log", "--oneline"), status: git("status", "--porcelain", "a.txt", "b.txt") };

  const changes = await run("echo b > b.txt; git add b.txt; git commit -qm two");

  expect(changes.taken_back).toEqual([]);
  expect(told(changes)).toContain("changed .git/index");
  expect(git("log", "--oneline")).toMatch(/two/);
  expect((await undo(changes.undo_id)).error).toBeNull();
  expect({ log: git("log", "--oneline"), status: git("status", "--porcelain", "a.txt", "b.txt") }).toEqual(before);
});

test("git init leaves a working repository, without anything that runs unless it was approved", async () => {
  const { run, read, names } = await scratchWatch();
  const planted = (name: string): string => `git init -q ${name}; echo evil > ${name}/.git/hooks/post-commit`;

  const taken = await run(planted("one"));
  const agreed = await run(planted("two"), { confirmed: true });

  expect(taken.taken_back.map(({ path }) => path)).toEqual(["one/.git/hooks/post-commit"]);
  expect(agreed.taken_back).toEqual([]);
  for (const name of ["one", "two"]) expect(read(`${name}/.git/config`)).toMatch(/core/);
  expect(names()).toContain("two/.git/hooks/post-commit");
});

test("a run is undone completely, edits and commands together", async () => {
  const { make, run, call, runtime, undo, read, names } = await scratchWatch();
  await make(FILES);
  const before = names();
  await call("write", { path: "a.txt", content: "written" });
  await run("sed -i s/written/edited/ a.txt; mv b.txt moved.txt");
  await call("edit", { path: "moved.txt", find: "b", replace: "c" });
  await run("rm moved.txt; echo x > src/c.txt");
  await call("write", { path: "src/c.txt", content: "last" });

  const undone = await undo(runtime.run_id);

  expect(undone.error).toBeNull();
  expect(names()).toEqual(before);
  for (const [name, content] of Object.entries(FILES)) expect(read(name)).toBe(content);
});

test("undo refuses if a file changed since the command", async () => {
  const { make, run, undo, root } = await scratchWatch();
  await make(FILES);
  const { undo_id } = await run("echo x > a.txt; echo y > b.txt");
  writeFileSync(join(root, "a.txt"), "another program's");

  expect((await undo(undo_id)).error).toMatchObject({ code: "Stale" });
});

test("a file that another call changes meanwhile belongs to that call, even a run-later file", async () => {
  const { make, before, changer, root, undo, read } = await scratchWatch();
  await make({ "a.txt": "a", "b.txt": "b", ".npmrc": "old" });
  const detection = await before();
  const edit = async (path: string, content: string) => {
    const touch = { path, real: join(root, path), access: "write", show_sensitive: false, exists: true } as const;
    const workspace = { roots: [root], home: "/none", state_dirs: [], checkpoint_handler: false, sandbox: "none" };
    const { signal } = new AbortController();
    const call = { run_id: "run_2", tool_call_id: "call_2", workspace, signal, recorded: () => Promise.resolve() };
    await changer.applyPlan({ ...call, touches: [touch] }, [path], () =>
      Promise.resolve([{ path, content: Buffer.from(content) }]),
    );
  };
  await edit("a.txt", "edited");
  await edit("b.txt", "edited");
  await edit(".npmrc", "edited");
  writeFileSync(join(root, "b.txt"), "by the command");
  writeFileSync(join(root, "c.txt"), "by the command");

  const changes = await detection.after();

  expect(changes.taken_back).toEqual([]);
  expect(told(changes)).toEqual(["changed b.txt (stays)", "added c.txt"]);
  expect((await undo(changes.undo_id)).error?.message).toMatch(/"b.txt" \(another call changed it/);
  expect(read("a.txt")).toBe("edited");
  expect(read(".npmrc")).toBe("edited");
});

test("of two parallel commands the first to end reports a change, and both report that they overlapped", async () => {
  const { before, root } = await scratchWatch();
  const one = await before();
  const two = await before();
  writeFileSync(join(root, "a.txt"), "a");

  const first = await one.after();
  const second = await two.after();

  expect(first).toMatchObject({ files: [{ path: "a.txt", undoable: true }], overlapped: true });
  expect(second).toMatchObject({ files: [], overlapped: true });
});

test("changes of a background process are listed but not undoable, and hooks are reverted anyway", async () => {
  const { make, run, names, read } = await scratchWatch();
  await make({ "a.txt": "a", ".npmrc": "old" });

  const changes = await run("echo x > a.txt; echo x > .npmrc; touch .envrc", { background: true });

  expect(changes.undo_id).toBeUndefined();
  expect(told(changes)).toEqual(["changed a.txt (stays)"]);
  expect(names()).toEqual([".npmrc", "a.txt"]);
  expect(read(".npmrc")).toBe("old");
});

test("for a background process, changed files are listed, touched ones are not", async () => {
  const { make, run, root } = await scratchWatch();
  await make({ "a.txt": "a", "b.txt": "b" });
  // What was changed in the very moment of a snapshot is not certain.
  await expect.poll(() => Date.now() - statSync(join(root, "b.txt")).ctimeMs).toBeGreaterThan(50);
  await run("true"); // what files hold is known from now on

  expect(told(await run("touch a.txt; echo x > b.txt", { background: true }))).toEqual(["changed b.txt (stays)"]);
});

test("changes of other calls while a background process runs belong to them, also when they undo them", async () => {
  const { make, watch, root, runtime, changer, before, run } = await scratchWatch();
  await make({ "a.txt": "a", "b.txt": "b", "c.txt": "c" });
  const detection = await before({ background: true });
  const edit = async (path: string, change: { content: Buffer } | { remove: true }) => {
    const touch = { path, real: join(root, path), access: "write", show_sensitive: false, exists: true } as const;
    const workspace = { roots: [root], home: "/none", state_dirs: [], checkpoint_handler: false, sandbox: "none" };
    const { signal } = new AbortController();
    const call = {
      run_id: runtime.run_id,
      tool_call_id: "call_2",
      workspace,
      signal,
      recorded: () => Promise.resolve(),
    };
    await changer.applyPlan({ ...call, touches: [touch] }, [path], () => Promise.resolve([{ path, ...change }]));
  };
  await edit("a.txt", { content: Buffer.from("written") });
  await edit("b.txt", { content: Buffer.from("written") });
  await edit("b.txt", { content: Buffer.from("b") }); // as undo does it
  await edit("new.txt", { content: Buffer.from("new") });
  await edit("new.txt", { remove: true });
  await run("echo x > c.txt; rm a.txt; echo log > log.txt");
  writeFileSync(join(root, "log.txt"), "more");

  const changes = await detection.after();

  expect(told(changes)).toEqual(["added log.txt (stays)"]);
  expect(changes.overlapped).toBe(true);
  watch.close();
});

test("of two background processes that end at once the first reports a change, and hooks are reverted once", async () => {
  const { before, root, names } = await scratchWatch();
  const [one, two] = [await before({ background: true }), await before({ background: true })];
  writeFileSync(join(root, "a.txt"), "a");
  writeFileSync(join(root, ".envrc"), "evil");

  const [first, second] = await Promise.all([one.after(), two.after()]);

  expect(told(first)).toEqual(["added a.txt (stays)"]);
  expect(first.taken_back.map(({ path }) => path)).toEqual([".envrc"]);
  expect(second).toMatchObject({ files: [], taken_back: [], overlapped: true });
  expect(names()).toEqual(["a.txt"]);
});

test("a background process does not affect the undo of parallel commands, and its hooks are reverted at its end", async () => {
  const { make, before, run, undo, read, root } = await scratchWatch();
  await make({ "a.txt": "a", ".npmrc": "old" });
  const detection = await before({ background: true });
  for (const each of [1, 2, 3]) {
    const { undo_id } = await run(`echo ${each} > a.txt`);
    expect((await undo(undo_id)).error).toBeNull();
  }
  writeFileSync(join(root, ".npmrc"), "evil");

  const changes = await detection.after();

  expect(read("a.txt")).toBe("a");
  expect(changes.taken_back).toMatchObject([{ path: ".npmrc", outcome: "restored" }]);
  expect(read(".npmrc")).toBe("old");
});

test("a hurried snapshot still finds the changes of a background process", async () => {
  const { make, before, watch, root } = await scratchWatch();
  await make(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}/a.txt`, "a"])));
  const detection = await before({ background: true });
  writeFileSync(join(root, "0/a.txt"), "b");
  watch.hurry();

  expect(told(await detection.after())).toEqual(["changed 0/a.txt (stays)"]);
});

test("a scan stops when the call is cancelled, and changes of a cancelled command are found", async () => {
  const { make, before, root } = await scratchWatch();
  await make(Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`${at % 50}/${at}.txt`, `${at}`])));
  await expect(before({ signal: AbortSignal.abort(new Error("cancelled")) })).rejects.toThrow("cancelled");
  const cancelling = new AbortController();
  const detection = await before({ signal: cancelling.signal });
  writeFileSync(join(root, "new.txt"), "new");
  cancelling.abort();

  expect(told(await detection.after())).toEqual(["added new.txt"]);
});

test("files that keep changing do no harm, and a stored content is always a consistent one", async () => {
  const { make, before, root, undo, run } = await scratchWatch();
  await make({ "still.txt": "still", "busy.txt": "a".repeat(50_000) });
  const script = `for (let at = 0; ; at++) require("fs").writeFileSync("busy.txt", "ab"[at % 2].repeat(50_000 + (at % 7)));`;
  const writer = spawn(process.execPath, ["-e", script], { cwd: root, stdio: "ignore", env: {} });
  await expect.poll(() => statSync(join(root, "busy.txt")).size).not.toBe(50_000);
  const rounds: CommandChanges[] = [];
  for (let round = 0; round < 20; round++) rounds.push(await (await before()).after());
  writer.kill("SIGKILL");
  await once(writer, "exit");

  for (const { files, taken_back } of rounds) {
    expect(files.every(({ path }) => path === "busy.txt")).toBe(true);
    expect(taken_back).toEqual([]);
  }
  const kept = readFileSync(join(root, "busy.txt"), "utf8");
  const { undo_id } = await run("echo x > busy.txt");
  expect((await undo(undo_id)).error).toBeNull();
  expect(readFileSync(join(root, "busy.txt"), "utf8")).toBe(kept);
});

test("a link that replaces a folder leads no scan outside", async () => {
  const { path, make, before, root, undo } = await scratchWatch();
  await make({ "folder/a.txt": "inside" });
  mkdirSync(join(path, "outside"));
  writeFileSync(join(path, "outside/secret.txt"), "outside");
  const detection = await before();
  renameSync(join(root, "folder"), join(path, "away"));
  symlinkSync(join(path, "outside"), join(root, "folder"));

  const changes = await detection.after();

  expect(told(changes)).toEqual(["changed folder", "removed folder/a.txt"]);
  expect(readlinkSync(join(root, "folder"))).toBe(join(path, "outside"));
  expect((await undo(changes.undo_id)).error).toBeNull();
  expect(readFileSync(join(root, "folder/a.txt"), "utf8")).toBe("inside");
  expect(readdirSync(join(path, "outside"))).toEqual(["secret.txt"]);
});

test("a process killed between the snapshots leaves nothing in the workspace and no copy in the state folder", async () => {
  const { root, runtime, names } = await scratchWatch();
  writeFileSync(join(root, "a.txt"), "a");
  const program = `
    const { createCommandWatch } = await import(${JSON.stringify(join(import.meta.dirname, "command-watch.ts"))});
    const { createFileChanger } = await import(${JSON.stringify(join(import.meta.dirname, "../files/file-changer.ts"))});
    const [root, state_dir] = process.argv.slice(-2);
    const workspace = { roots: [root], home: "/none", state_dirs: [state_dir], checkpoint_handler: false, sandbox: "test" };
    const changer = createFileChanger({ state_dir, clock: Date.now, workspace });
    const watch = createCommandWatch({ state_dir, changer, workspace, cwd: root });
    const signal = new AbortController().signal;
    await watch.before({ run_id: "run_1", tool_call_id: "call_1", signal, recorded: async () => {} });
    (await import("node:fs")).writeFileSync(root + "/b.txt", "b");
    process.kill(process.pid, "SIGKILL");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, root, runtime.state_dir], {
    stdio: "inherit",
  });
  await once(child, "exit");

  expect(child.signalCode).toBe("SIGKILL");
  expect(names()).toEqual(["a.txt", "b.txt"]);
  expect(readdirSync(join(runtime.state_dir, "undo/packs"))).toEqual([]);
});

test("if the state folder is not writable, changes of the command are still reported", async () => {
  const { make, before, root, runtime } = await scratchWatch();
  await make({ "a.txt": "a" });
  const detection = await before();
  rmSync(join(runtime.state_dir, "undo/open"), { recursive: true });
  writeFileSync(join(runtime.state_dir, "undo/open"), "no folder");
  writeFileSync(join(root, "a.txt"), "b");
  writeFileSync(join(root, ".envrc"), "evil");

  const changes = await detection.after();
  rmSync(join(runtime.state_dir, "undo/open"));

  expect(changes.undo_id).toBeUndefined();
  expect(changes.files).toMatchObject([
    { path: "a.txt", undoable: false, why_not: expect.stringMatching(/could not be stored/) as string },
  ]);
  expect(changes.taken_back).toMatchObject([{ path: ".envrc", outcome: "stays" }]);
});

const anyPath = fc
  .tuple(fc.constantFrom("", "x/", "x/y/", "z/"), fc.constantFrom("a", "b", "c"))
  .map(([folder, name]) => folder + name);
const anyStep = fc.oneof(
  fc.record({ do: fc.constant("write" as const), path: anyPath, content: fc.string({ maxLength: 5 }) }),
  fc.record({ do: fc.constant("remove" as const), path: anyPath }),
  fc.record({ do: fc.constant("move" as const), path: anyPath, to: anyPath }),
  fc.record({ do: fc.constant("remove" as const), path: fc.constantFrom("x", "x/y", "z") }),
);

test("whatever commands do to files, undoing the run restores all of them", async () => {
  const property = fc.asyncProperty(
    fc.dictionary(anyPath, fc.string({ maxLength: 5 })),
    fc.array(fc.array(anyStep, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
    async (files, commands) => {
      const { before, root, changer, runtime, undo, watch } = await scratchWatch();
      for (const [path, content] of Object.entries(files)) perform(root, { do: "write", path, content });
      const old = contentsIn(root);
      for (const steps of commands) {
        const detection = await before();
        for (const step of steps) perform(root, step);
        const now = contentsIn(root);
        const changes = await detection.after();
        expect(changes.files.every(({ undoable }) => undoable)).toBe(true);
        expect(contentsIn(root)).toEqual(now);
      }
      if (JSON.stringify(contentsIn(root)) !== JSON.stringify(old))
        expect((await undo(runtime.run_id)).error).toBeNull();
      expect(contentsIn(root)).toEqual(old);
      watch.close();
      await changer.close();
    },
  );
  await fc.assert(property, { numRuns: 40 });
});

type Step =
  | { do: "write"; path: string; content: string }
  | { do: "remove"; path: string }
  | { do: "move"; path: string; to: string };

function perform(root: string, step: Step): void {
  const path = join(root, step.path);
  if (step.do === "remove") return rmSync(path, { recursive: true, force: true });
  if (step.do === "move" && !existsSync(path)) return;
  const to = step.do === "move" ? join(root, step.to) : path;
  mkdirSync(dirname(to), { recursive: true });
  if (step.do === "move") renameSync(path, to);
  else writeFileSync(path, step.content);
}

/** Of every file below, but those of the runtime itself. */
function contentsIn(root: string): Readonly<Record<string, string>> {
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => lstatSync(join(root, name)).isFile()).sort();
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

const IN_LARGE = [
  { title: "a file in it removed", script: "rm node_modules/p1/x.js", fails: true },
  { title: "a file in it written in place", script: "echo evil > node_modules/p2/x.js", fails: true },
  { title: "a file in it added", script: "echo n > node_modules/p3/n.js", fails: true },
  { title: "all of it removed", script: "rm -rf node_modules", fails: true },
  { title: "nothing in it changed", script: "cat node_modules/p1/x.js", fails: false },
] as const;

for (const { title, script, fails } of IN_LARGE) {
  test(`undo reports what it cannot restore in a large ignored folder: ${title}`, async () => {
    const { make, run, undo, read } = await scratchWatch({ limits: { ignored_files: 5 } });
    const packages = Array.from({ length: 6 }, (_, at) => [`node_modules/p${at}/x.js`, `${at}`] as const);
    await make({ ".gitignore": "node_modules/\n", "a.txt": "a", ...Object.fromEntries(packages) });

    const changes = await run(`${script}; echo b > a.txt`);
    const { error } = await undo(changes.undo_id);

    expect(read("a.txt")).toBe("a");
    if (fails) expect(error?.message).toMatch(/cannot be undone: "node_modules\/"/);
    else expect(error).toBeNull();
  });
}
