import { spawnSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";

const HERE = import.meta.dirname;

/**
 * Runs a command as a plain user between two snapshots, undoes it, undoes that, and undoes it again; prints what is as it was.
 * Root enters every folder.
 */
function program(root: string, state_dir: string, script: string): string {
  return `
    import { execFileSync } from "node:child_process";
    import { createFileChanger } from ${JSON.stringify(join(HERE, "../files/file-changer.ts"))};
    import { createCommandWatch } from ${JSON.stringify(join(HERE, "command-watch.ts"))};
    import { snapshot } from ${JSON.stringify(join(HERE, "../../../../../test/campaigns/undo/tree.ts"))};
    import { netOf } from ${JSON.stringify(join(HERE, "../../tools/net-change.ts"))};
    if (process.getuid() === 0) {
      process.setgroups([]);
      process.setgid(65534);
      process.setuid(65534);
    }
    const root = ${JSON.stringify(root)};
    const before = snapshot(root);
    const workspace = { roots: [root], home: "/none", state_dirs: [${JSON.stringify(state_dir)}], checkpoint_handler: false, sandbox: "none" };
    const changer = createFileChanger({ state_dir: ${JSON.stringify(state_dir)}, clock: Date.now, workspace });
    const watch = createCommandWatch({ state_dir: ${JSON.stringify(state_dir)}, changer, workspace, cwd: root, limits: { look_ms: 600_000 } });
    const about = { run_id: "run_1", tool_call_id: "call_1", signal: new AbortController().signal, recorded: async () => {} };
    const undo = async (undo_id) => await changer.restore({ ...about, force: false }, netOf(await changer.undoLog.find({ undo_id })));
    const detection = await watch.before(about);
    execFileSync("bash", ["--norc", "-c", ${JSON.stringify(script)}], { cwd: root });
    const changes = await detection.after();
    const stays = changes.files.filter(({ undoable }) => !undoable).map(({ path }) => path);
    const taken = changes.taken_back.map(({ path, outcome }) => outcome + " " + path);
    const after = snapshot(root);
    const undone = await undo(changes.undo_id);
    const isSame = snapshot(root) === before;
    const redone = await undo(undone.undo_id);
    const isRedone = snapshot(root) === after;
    const last = await undo(redone.undo_id);
    const isSameAgain = snapshot(root) === before;
    watch.close();
    await changer.close();
    const failures = [undone, redone, last].flatMap(({ failure }) => failure?.message ?? []);
    console.log(JSON.stringify({ stays, taken, left_out: changes.left_out, failures, isSame, isRedone, isSameAgain }));
  `;
}

const COMMANDS = [
  { title: "a folder closed after a file in it was removed", script: "rm src/b; chmod 000 src" },
  { title: "a folder that may be listed only", script: "echo x > src/deep/c; chmod 444 src/deep" },
  { title: "a folder that may be entered only", script: "rm src/deep/c; chmod 111 src/deep" },
  {
    title: "everything closed",
    script: "rm src/b; echo n > n; echo m > m; chmod 000 m; chmod 000 a m n src/deep/c src/deep src .",
  },
  { title: "a file of three names that may not be read", script: "chmod 111 linked" },
  { title: "a file of three names that was changed and closed", script: "echo x >> src/linked; chmod 0 linked; rm a" },
  { title: "a file of three names that lost one and was closed", script: "rm src/linked; chmod 0200 src/deep/linked" },
  { title: "the root and all that is in it", script: "chmod -R 000 . 2>/dev/null; true" },
  { title: "a root that only its owner could enter", script: "chmod 000 .", mode: 0o700 },
  { title: "a root that may be listed only", script: "rm -r src; chmod 444 .", mode: 0o750 },
  { title: "folders of a root that is closed first", script: "chmod 500 src; chmod 311 src/deep; chmod 0 ." },
  {
    title: "a new folder that is closed",
    script: "mkdir -p new/in; echo x > new/in/x; chmod 000 new/in new; chmod 000 a",
  },
  {
    title: "something that runs later in a folder that was closed",
    script: "mkdir .husky; echo evil > .husky/pre-commit; chmod 000 .husky; rm a",
    taken: ["removed .husky/pre-commit"],
  },
] as const;

for (const { title, script, ...more } of COMMANDS) {
  test(`an unprivileged command cannot hide its changes from undo: ${title}`, async () => {
    const { path } = await scratchFolder();
    const root = join(path, "root");
    mkdirSync(join(root, "src/deep"), { recursive: true });
    mkdirSync(join(path, "state"));
    for (const name of ["a", "src/b", "src/deep/c", "linked"]) writeFileSync(join(root, name), `${name}\n`);
    for (const name of ["src/linked", "src/deep/linked"]) linkSync(join(root, "linked"), join(root, name));
    chmodSync(path, 0o711);
    if ("mode" in more) chmodSync(root, more.mode);
    if (process.getuid?.() === 0) spawnSync("chown", ["-R", "65534:65534", root, join(path, "state")]);

    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module-typescript", "-e", program(root, join(path, "state"), script)],
      { encoding: "utf8" },
    );

    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      stays: [],
      taken: "taken" in more ? more.taken : [],
      left_out: [],
      failures: [],
      isSame: true,
      isRedone: true,
      isSameAgain: true,
    });
  });
}
