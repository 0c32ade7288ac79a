import { expect, test } from "vitest";
import { scratchWatch } from "../../../../../test/support/scratch-watch.ts";

/** `make <folder> [<files>]` creates a repository with two commits, its files in `src` or the given folder. */
const MAKE = `set -e
make() (
  mkdir -p "$1"; cd "$1"; git init -q -b main
  mkdir -p \${2:-src}; for i in $(seq 40); do echo "file $i" > \${2:-src}/f$i.ts; done
  git add -A; git commit -qm one
  for i in $(seq 40); do echo more >> \${2:-src}/f$i.ts; done; git commit -qam two
)`;

/** Repositories whose work tree lacks a \`.git\` with all objects in it. `$W` is the work tree. */
// oxfmt-ignore
const LAYOUTS = [
  { title: "a submodule",                            make: "make lib; git init -q -b main; git -c protocol.file.allow=always submodule -q add $PWD/lib $W; git commit -qm sub" },
  { title: "a linked worktree",                      make: "make main; git -C main worktree add -q $PWD/$W -b other" },
  { title: "a linked worktree of a bare repository", make: "make main; git clone -q --bare main bare.git; git -C bare.git worktree add -q $PWD/$W main" },
  { title: "alternates",                             make: "make main; git clone -q -s main $W" },
  { title: "alternates that are packed",             make: "make main; git -C main gc -q; git clone -q -s main $W; git -C $W commit -q --allow-empty -m own; git -C $W repack -adlq" },
  { title: "a separate git folder",                  make: "make main; git clone -q --separate-git-dir=store main $W" },
] as const;

// oxfmt-ignore
const COMMANDS = [
  { what: "rm -rf",                 cmd: "rm -rf src f*.ts" },
  { what: "a rewrite of all files", cmd: "for f in $(find . -name 'f*.ts'); do echo changed > $f; done" },
  { what: "a commit, amended",      cmd: "echo x > new.ts; git add -A .; git commit -qm three; git commit -q --amend -m four; echo y > new.ts" },
  { what: "a hard reset and gc",    cmd: "git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now; rm $(find . -name f3.ts)" },
  { what: "its .git removed", cmd: "rm -rf .git; rm $(find . -name 'f1*.ts')" },
] as const;

/** Objects are held from the first one on, if the layout supports it. */
const HELD = { store_files: 1 };

type Scratch = Awaited<ReturnType<typeof scratchWatch>>;

async function tryAll({ runAgain, snapshot, undo }: Scratch, workFolder: string): Promise<void> {
  const before = snapshot();
  for (const { what, cmd } of COMMANDS) {
    const { files, undo_id } = await runAgain(`cd ${workFolder}; ${cmd}`, { confirmed: true });

    const lost = files.filter(({ undoable }) => !undoable);
    expect(lost, what).toEqual([]);
    expect(snapshot(), what).not.toEqual(before);
    expect((await undo(undo_id)).error, what).toBe(null);
    expect(snapshot(), what).toEqual(before);
  }
}

for (const { title, make } of LAYOUTS) {
  test(`with ${title}, commands are undone byte for byte, including its main repository`, async () => {
    const folder = await scratchWatch({ limits: HELD });
    folder.sh(`${MAKE}\nW=work; ${make}`);

    await tryAll(folder, "work");
  });

  test(`with ${title} as root, commands are undone byte for byte`, async () => {
    const folder = await scratchWatch({ limits: HELD });
    folder.sh(`${MAKE}\ncd ..; W=root; rmdir root; ${make}`);

    await tryAll(folder, ".");
  });
}

test("with a folder below the top of a repository as root, commands are undone byte for byte", async () => {
  const folder = await scratchWatch({ limits: HELD });
  folder.sh(`${MAKE}\ncd ..; make . root`);

  await tryAll(folder, ".");
});

test("files are restored even if the objects of alternates are lost", async () => {
  const folder = await scratchWatch({ limits: HELD });
  folder.sh(`${MAKE}\nmake main; git clone -q -s main work`);
  const before = folder.snapshot();

  const { undo_id } = await folder.runAgain("rm -rf main work/src", { confirmed: true });

  expect((await folder.undo(undo_id)).ok).toBe(true);
  expect(folder.snapshot()).toEqual(before);
});
