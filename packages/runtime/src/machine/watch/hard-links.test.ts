import { execFileSync } from "node:child_process";
import { linkSync, lstatSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchWatch } from "../../../../../test/support/scratch-watch.ts";

/** `one`, `two` and `in/three` are one file; `same` holds the same, and is its own. */
async function scratchLinks() {
  const folder = await scratchWatch();
  const { make, root } = folder;
  await make({ one: "linked", same: "linked", "in/other": "other" });
  linkSync(join(root, "one"), join(root, "two"));
  linkSync(join(root, "one"), join(root, "in/three"));
  const names = ["one", "two", "in/three", "same", "in/other"];
  const state = (): Readonly<Record<string, string>> => {
    const inodes = new Map<number, string>();
    return Object.fromEntries(
      names.map((name) => {
        const stats = lstatSync(join(root, name), { throwIfNoEntry: false });
        if (stats?.isFile() !== true) return [name, stats === undefined ? "missing" : "no file"];
        const first = inodes.get(stats.ino) ?? name;
        inodes.set(stats.ino, first);
        return [name, `${readFileSync(join(root, name), "utf8")} ${stats.mode.toString(8)} as ${first}`];
      }),
    );
  };
  return { ...folder, state };
}

const COMMANDS = [
  { title: "written in place", script: "echo changed > two" },
  { title: "one name replaced", script: "sed -i s/l/x/ two" },
  { title: "one name replaced by a copy", script: "cp two t; mv t two" },
  { title: "one name removed", script: "rm one" },
  { title: "all but one removed", script: "rm one in/three" },
  { title: "all removed", script: "rm -rf one two in" },
  { title: "one moved", script: "mv one uno" },
  { title: "the folder moved", script: "mv in out; echo more >> two" },
  { title: "a further name", script: "ln one four; rm two" },
  { title: "a mode", script: "chmod 600 two" },
  { title: "written and closed", script: "echo changed > two; chmod 400 one; rm in/three" },
  { title: "a file with the same content linked to them", script: "ln -f one same" },
  { title: "a file with another content linked to them", script: "ln -f one in/other; echo all > one" },
  { title: "one replaced by a link", script: "ln -sf same two" },
  { title: "one replaced by a folder", script: "rm one; mkdir one; echo x > one/x" },
  { title: "two groups exchanged", script: "ln same pair; mv two t; mv pair two; mv t pair" },
  { title: "new hard links", script: "mkdir new; echo n > new/a; ln new/a new/b; ln new/a new/c" },
] as const;

for (const { title, script } of COMMANDS) {
  test(`hard links are restored by undo, and by undo of the undo: ${title}`, async () => {
    const { run, undo, state, names } = await scratchLinks();
    const [before, all] = [state(), names()];
    const { undo_id } = await run(script);
    const [after, left] = [state(), names()];

    const undone = await undo(undo_id);

    expect(undone.error).toBeNull();
    expect(state()).toEqual(before);
    expect(names()).toEqual(all);
    expect((await undo(undone.artifacts.undo_id)).error).toBeNull();
    expect(state()).toEqual(after);
    expect(names()).toEqual(left);
  });
}

test("a hard link whose other names a user changed since is restored as a separate file", async () => {
  const { run, undo, root, read } = await scratchLinks();
  const { undo_id } = await run("rm two in/three");
  writeFileSync(join(root, "one"), "a person's");

  expect((await undo(undo_id)).error).toBeNull();
  expect([read("one"), read("two"), read("in/three")]).toEqual(["a person's", "linked", "linked"]);
  expect(statSync(join(root, "two")).ino).toBe(statSync(join(root, "in/three")).ino);
});

test("a new file that is too large to read is removed by undo, unless it changed since", async () => {
  const { make, run, undo, names, root } = await scratchWatch();
  await make({ "a.txt": "a" });
  const one = await run("truncate -s 80M large; truncate -s 80M a.txt");
  expect(one.files.every(({ undoable }) => undoable)).toBe(true);
  expect((await undo(one.undo_id)).error).toBeNull();
  expect(names()).toEqual(["a.txt"]);
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("a");

  const two = await run("truncate -s 80M large");
  execFileSync(
    "sh",
    ["-c", "touch -r large r; echo mine | dd of=large conv=notrunc status=none; touch -r r large; rm r"],
    {
      cwd: root,
    },
  );

  expect((await undo(two.undo_id)).error?.code).toBe("Stale");
  expect(names()).toEqual(["a.txt", "large"]);
});
