import { execFileSync } from "node:child_process";
import { linkSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { createRuntime } from "../runtime.ts";
import type { Runtime, RuntimeOptions } from "../options/runtime-options.ts";
import { aliasProblems, splitRootsOf } from "./state-place.ts";

/** A workspace and a state folder beside it, both of them roots, the state folder first. */
async function withStateAsRoot(options: Partial<RuntimeOptions> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "work/a.txt": "workspace text\n", "state/": "" });
  const [work, state_dir] = [join(folder.path, "work"), join(folder.path, "state")];
  const runtime = await createRuntime({ roots: [state_dir, work], state_dir, profile: "autonomous", ...options });
  onTestFinished(() => runtime.close());
  const call = (name: string, args: unknown): ReturnType<Runtime["call"]> => runtime.call({ name, args });
  await call("write", { path: "first.txt", content: "makes the record" });
  return { ...folder, runtime, work, state_dir, call };
}

/** Names and contents of all files below a folder. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => join(entry.parentPath, entry.name)).map((path) => [path, readFileSync(path, "latin1")]),
  );
}

// oxfmt-ignore
const SPELLINGS = [
  { title: "read",               name: "read",        args: (state: string) => ({ path: `${state}/mark` }) },
  { title: "read by a link",     name: "read",        args: () => ({ path: "led/mark" }) },
  { title: "read by dots",       name: "read",        args: () => ({ path: "../state/mark" }) },
  { title: "read by /proc",      name: "read",        args: (state: string) => ({ path: `/proc/self/root${state}/mark` }) },
  { title: "ls",                 name: "ls",          args: (state: string) => ({ path: state, all: true }) },
  { title: "find",               name: "find",        args: (state: string) => ({ path: state, name_pattern: "*" }) },
  { title: "grep",               name: "grep",        args: (state: string) => ({ path: state, pattern: "." }) },
  { title: "write a new file",   name: "write",       args: (state: string) => ({ path: `${state}/new.txt`, content: "x" }) },
  { title: "write deeper",       name: "write",       args: (state: string) => ({ path: `${state}/notes/deep/new.txt`, content: "x" }) },
  { title: "write by a link",    name: "write",       args: () => ({ path: "led/http.token", content: "x" }) },
  { title: "edit",               name: "edit",        args: (state: string) => ({ path: `${state}/.gitignore`, find: "*", replace: "x" }) },
  { title: "delete",             name: "delete_file", args: (state: string) => ({ path: `${state}/mark` }) },
  { title: "a command's folder", name: "bash",        args: (state: string) => ({ cmd: "ls", workdir: state }) },
];

test("a state folder that is a root starts, and every file of it is closed to every tool", async () => {
  const { call, make, state_dir, path } = await withStateAsRoot();
  await make({ "work/led": "-> ../state" });
  expect(await call("read", { path: "a.txt" })).toMatchObject({ ok: true });
  const mark = readFileSync(join(state_dir, "mark"), "utf8").trim();
  for (const { title, name, args } of SPELLINGS) {
    const result = await call(name, args(state_dir));
    expect(result.error?.code ?? `${title} was done`, `${title}: ${result.error?.message}`).toBe("SensitivePath");
    expect(JSON.stringify(result)).not.toContain(mark);
  }
  expect(readdirSync(state_dir)).not.toEqual(expect.arrayContaining(["new.txt"]));
  expect(await call("ls", { path })).toMatchObject({ error: { code: "PathTraversalBlocked" } });
});

/** What does not name the folder: only the sandbox stands in its way. */
const COMMANDS = [
  "cat ../state/mark; ls -la ../state; cat led/mark",
  'd=$(dirname "$PWD")/sta; cat "${d}te/mark"',
  'd=$(dirname "$PWD")/sta; echo x > "${d}te/planted"; mkdir -p "${d}te/planted-folder"; ln -s /etc/passwd "${d}te/http.token"',
  'd=$(dirname "$PWD")/sta; mv "${d}te" "${d}te2"; mv "${d}te" ./taken; rmdir "${d}te"; rm -rf "${d}te"',
  'd=$(dirname "$PWD")/sta; ln "${d}te/mark" hard; cp -al "${d}te" copied; cat hard copied/mark',
  'd=$(dirname "$PWD")/sta; tar cf all.tar "${d}te"; tar xf all.tar -O; git -C "${d}te" init; git --git-dir=x --work-tree="${d}te" status',
  'd=$(dirname "$PWD")/sta; mount --bind "${d}te" /mnt; unshare -rm mount --bind "${d}te" /mnt; cat /mnt/mark',
  'd=$(dirname "$PWD")/sta; for p in /proc/[0-9]*; do cat "$p/root${d}te/mark" "$p/cwd/../state/mark"; ls "$p/fd/"; done',
  'd=$(dirname "$PWD")/sta; find "${d}te" /proc/self/root"${d}te" -name mark -exec cat {} +; grep -r . "${d}te"; sqlite3 "${d}te/autonous.db" .dump',
];

test("no command in the sandbox reads, plants, moves or links anything in a state folder that is a root", async ({
  skip,
}) => {
  const { call, state_dir, work } = await withStateAsRoot();
  const { payload } = await call("bash", { cmd: "true" });
  if ((payload?.data as { readonly sandbox?: string } | undefined)?.sandbox !== "bwrap") skip("no sandbox available");
  const mark = readFileSync(join(state_dir, "mark"), "utf8").trim();
  const own = (): Record<string, string> => {
    const { [join(state_dir, "mark")]: marked, [join(state_dir, ".gitignore")]: ignored } = contentOf(state_dir);
    return { marked: marked ?? "gone", ignored: ignored ?? "gone" };
  };
  const before = own();
  for (const cmd of COMMANDS) {
    const result = await call("bash", { cmd: `{ ${cmd}; } 2>&1; true` });
    expect(JSON.stringify(result), cmd).not.toContain(mark);
    expect(own(), cmd).toEqual(before);
  }
  const names = readdirSync(state_dir);
  for (const planted of ["planted", "planted-folder", "http.token"]) expect(names).not.toContain(planted);
  expect(Object.values(contentOf(work)).join("\n")).not.toContain(mark);
});

test("undo brings nothing into a state folder that is a root, and takes nothing out of it", async () => {
  const { call, state_dir, runtime, work } = await withStateAsRoot();
  const changed = await call("write", { path: "sub/x.txt", content: "new" });
  const before = readFileSync(join(state_dir, "mark"), "utf8");
  // The folder of the change leads into the state by now, to a file of that name.
  linkSync(join(state_dir, "mark"), join(state_dir, "x.txt"));
  renameSync(join(work, "sub"), join(work, "old"));
  execFileSync("ln", ["-s", state_dir, join(work, "sub")]);
  const undone = await runtime.undo(changed.artifacts?.undo_id ?? "").catch((error: unknown) => error);
  expect(JSON.stringify(undone)).not.toMatch(/"outcome":"done"/);
  expect(readFileSync(join(state_dir, "x.txt"), "utf8")).toBe(before);
});

test("the working folder is the first root that is open; none is left where the state folder is the only one", async () => {
  const { call, work, state_dir, path } = await withStateAsRoot();
  expect(await call("bash", { cmd: "pwd" })).toMatchObject({ payload: { stdout: `${work}\n` } });
  await expect(createRuntime({ roots: [state_dir], state_dir })).rejects.toThrow(
    /"[^"]*state" cannot be used: it is the runtime's own state/,
  );
  await expect(createRuntime({ roots: [work, state_dir], state_dir, cwd: state_dir })).rejects.toThrow(
    /working folder "[^"]*state" is inside the state folder/,
  );
  await expect(createRuntime({ roots: [work, join(state_dir, "runs")], state_dir })).rejects.toThrow(
    /runtime's own state/,
  );
  await expect(createRuntime({ roots: [work], state_dir, cwd: path })).rejects.toThrow(/is outside the roots/);
});

test("a root with unmarked content does not become the state folder", async () => {
  const folder = await scratchFolder();
  await folder.make({ "work/": "", "state/autonous.db": "planted" });
  const [work, state_dir] = [join(folder.path, "work"), join(folder.path, "state")];
  await expect(createRuntime({ roots: [work, state_dir], state_dir })).rejects.toThrow(
    /no mark of this user and machine/,
  );
  expect(readdirSync(state_dir)).toEqual(["autonous.db"]);
});

test("a root that is the state folder by a second mount is refused", async ({ skip }) => {
  const folder = await scratchFolder();
  await folder.make({ "state/": "", "second/": "", "work/": "" });
  const [state, second, work] = ["state", "second", "work"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  expect(splitRootsOf(state, [work, state])).toEqual({ open: [work], own: [state] });
  expect(aliasProblems(state, [work, state, join(folder.path, "missing")])).toEqual([]);
  expect(aliasProblems(join(folder.path, "missing"), [work])).toEqual([]);
  const mount = [
    "-rm",
    "sh",
    "-c",
    'mount --bind "$1" "$2" && exec "$3" --conditions=@autonous/source -e "$4" "$1" "$2"',
  ];
  const module = join(import.meta.dirname, "state-place.ts");
  const code = `import(${JSON.stringify(module)}).then((m) => console.log(JSON.stringify(m.aliasProblems(process.argv[1], [process.argv[2]]))))`;
  try {
    execFileSync("unshare", ["-rm", "true"], { stdio: "ignore" });
  } catch {
    return skip("this machine does not allow mounts");
  }
  const printed = execFileSync("unshare", [...mount, "sh", state, second, process.execPath, code], {
    encoding: "utf8",
  });
  expect(printed).toMatch(/second\\" cannot be used: it is the state folder .* mounted a second time/);
});
