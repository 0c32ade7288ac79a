import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import type { RuntimeOptions } from "@autonous/runtime";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch, scratchFolder } from "../../../../test/support/scratch.ts";
import { NO_CHANGES } from "../contract/command-changes.ts";
import type { ToolContext, Transcript } from "../contract/context.ts";
import type { RunProgram, ScriptEnd } from "../contract/skills.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { findWay } from "../machine/skills/interpreters.ts";
import { createSkills } from "../machine/skills/create-skills.ts";
import { waysToRun } from "../skills/interpreter.ts";
import { runScript } from "./run-script.ts";

/** A real process, without a sandbox: what confines it is tested where that is made. */
const runBare: RunProgram = ({ run: [program, ...args], cwd, environment }, { timeout_ms, onOutput, signal }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      signal,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let ended_by: ScriptEnd["ended_by"] = "itself";
    const timer = setTimeout(() => {
      ended_by = "timeout";
      child.kill("SIGKILL");
    }, timeout_ms);
    child.stdout.on("data", (piece: Buffer) => onOutput("stdout", piece));
    child.stderr.on("data", (piece: Buffer) => onOutput("stderr", piece));
    child.on("error", reject);
    child.on("close", (code, by) => {
      clearTimeout(timer);
      resolve({ exit_code: code ?? 137, signal: by, ended_by, sandbox: "none", changes: NO_CHANGES });
    });
  });

function plainTranscript(): Transcript {
  const printed = { stdout: "", stderr: "" };
  return {
    write: (stream, piece) => (printed[stream] += Buffer.from(piece).toString()),
    pause: () => "",
    end: () => ({ ...printed, truncated_lines: false, truncated_bytes: false, redacted: false }),
  };
}

interface KitOptions {
  readonly run?: RunProgram;
  readonly script_timeout_ms?: number;
  /** The PATH, by the scratch folder. */
  readonly path?: (folder: string) => string;
}

/** A person's skill "kit" with these scripts; those that begin with "#!" are executable. */
async function kit(scripts: Readonly<Record<string, string>>, options: KitOptions = {}) {
  const { run = runBare, script_timeout_ms = 60_000, path: pathOf = () => process.env["PATH"] ?? "" } = options;
  const folder = await scratchFolder();
  const { path } = folder;
  const base = "home/.agents/skills/kit";
  const files = Object.entries(scripts).map(([name, text]) => [`${base}/${name}`, text] as const);
  await folder.make({
    "root/": "",
    "state/run/": "",
    [`${base}/SKILL.md`]: "---\nname: kit\ndescription: x\n---\n",
    ...Object.fromEntries(files),
  });
  for (const [name, text] of files) if (text.startsWith("#!")) await chmod(join(path, name), 0o755);
  const workspace = { roots: [join(path, "root")], home: join(path, "home"), state_dirs: [join(path, "state")] };
  const skills = createSkills({ workspace, cwd: join(path, "root"), environment: { PATH: pathOf(path) } });
  const call = { run_folder: join(path, "state/run"), signal: new AbortController().signal, run };
  const context = {
    skills: skills.forCall(call),
    openTranscript: plainTranscript,
    progress: () => {},
    processes: { script_timeout_ms },
  };
  return {
    ...folder,
    /** Checks the arguments and what comes back as the gate does. */
    async call(args: Readonly<Record<string, unknown>>): Promise<ToolOutput<unknown>> {
      const output = await runScript.execute(
        runScript.args.parse({ skill: "kit", ...args }),
        context as unknown as ToolContext,
      );
      runScript.returns.parse(output.data);
      return output;
    },
  };
}

// oxfmt-ignore
const SCRIPTS = [
  { name: "a.sh",  text: 'echo "$# $2"' },
  { name: "a.js",  text: "console.log(process.argv.length - 2, process.argv[3])" },
  { name: "a.mjs", text: 'import process from "node:process"; console.log(process.argv.length - 2, process.argv[3])' },
  { name: "a.ts",  text: "const rest: string[] = process.argv.slice(2); console.log(rest.length, rest[1])" },
  { name: "a.pl",  text: 'print scalar(@ARGV), " $ARGV[1]\\n";' },
  { name: "a.py",  text: "import sys\nprint(len(sys.argv) - 1, sys.argv[2])" },
  { name: "a",     text: '#!/bin/sh\necho "$# $2"' },
];

for (const { name, text } of SCRIPTS) {
  const ways = waysToRun({ path: name, executable: text.startsWith("#!"), head: Buffer.from(text) });
  const where = { roots: [], path: process.env["PATH"] ?? "" };
  const isMissing = "refusal" in ways || findWay(ways, where) === undefined;

  test.skipIf(isMissing)(`scripts/${name} runs, and gets its arguments as they are`, async () => {
    const { call } = await kit({ [`scripts/${name}`]: text });

    const result = await call({ relative_path: `scripts/${name}`, args: ["-x", "a 'b' $HOME `id` ; *", ""] });

    expect(result).toMatchObject({
      stdout: "3 a 'b' $HOME `id` ; *\n",
      exit_code: 0,
      data: { script: `scripts/${name}`, ended_by: "itself" },
    });
    expect(result.failure).toBeUndefined();
  });
}

test("what ran is in the record, with the hash of the script and every argument told apart", async () => {
  const { call } = await kit({ "scripts/a.sh": "echo" });

  const { artifacts, data } = await call({ relative_path: "scripts/a.sh", args: ["--in=x.txt", "it's", "a\u{1b}b"] });

  const { sha256 } = data as { sha256: string };
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(artifacts?.commands_run).toEqual([`kit/scripts/a.sh --in=x.txt 'it'\\''s' 'a\\eb' # sha256:${sha256}`]);
});

test("a script works in the run's own folder, which stays for the next one", async () => {
  const { call, path } = await kit({ "scripts/a.sh": "pwd; ls; echo 1 > made" });

  expect((await call({ relative_path: "scripts/a.sh" })).stdout).toBe(`${path}/state/run/sandbox\n`);
  expect((await call({ relative_path: "scripts/a.sh" })).stdout).toBe(`${path}/state/run/sandbox\nmade\n`);
  expect(await readdir(join(path, "state/run/skills"))).toEqual([]);
});

test("a script finds what lies beside it, and changes only a copy", async () => {
  const { call, read, path } = await kit({
    "scripts/a.sh":
      '. "$(dirname "$0")/lib/b.sh"; cat assets/c.txt; chmod -R u+w . && echo 2 > assets/c.txt; ln -s / out',
    "scripts/lib/b.sh": "echo lib",
    "assets/c.txt": "1\n",
  });

  const result = await call({ relative_path: "scripts/a.sh", workdir: "skill" });

  expect(result.stdout).toBe("lib\n1\n");
  expect(await read("home/.agents/skills/kit/assets/c.txt")).toBe("1\n");
  expect(await readdir(join(path, "state/run/skills"))).toEqual([]);
});

// oxfmt-ignore
const FAILED = [
  { title: "ends with an error",  text: "echo out; echo err >&2; exit 3", exit_code: 3,   code: "ExitNonZero", says: /exited with code 3/ },
  { title: "is ended by a signal", text: "echo out; echo err >&2; kill -9 $$", exit_code: 137, code: "ExitNonZero", says: /killed by SIGKILL/ },
  { title: "takes too long",      text: "echo out; echo err >&2; exec sleep 600", exit_code: 137, code: "Timeout", says: /timed out after 1 s/ },
];

for (const { title, text, exit_code, code, says } of FAILED) {
  test(`a script that ${title} has failed, and its output is there`, async () => {
    const { call, path } = await kit({ "scripts/a.sh": text });

    const result = await call({ relative_path: "scripts/a.sh", timeout_seconds: 1 });

    expect(result).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      exit_code,
      failure: { code, message: expect.stringMatching(says) as string },
    });
    expect(await readdir(join(path, "state/run/skills"))).toEqual([]);
  });
}

test("a script may take as long as the host says where the call does not say", async () => {
  const { call } = await kit({ "scripts/a.sh": "exec sleep 600" }, { script_timeout_ms: 1000 });

  const { failure } = await call({ relative_path: "scripts/a.sh" });

  expect(failure).toMatchObject({
    code: "Timeout",
    message: expect.stringMatching(/timed out after 1 s/) as string,
    details: { timeout: true, timeout_seconds: 1 },
  });
});

test("the copy is removed if the script cannot be started", async () => {
  const cannotStart: RunProgram = () => Promise.reject(new Error("ENOENT"));
  const { call, path } = await kit({ "scripts/a.sh": "echo" }, { run: cannotStart });

  await expect(call({ relative_path: "scripts/a.sh" })).rejects.toThrow(/ENOENT/);
  expect(await readdir(join(path, "state/run/skills"))).toEqual([]);
});

test("an interpreter that is missing is named, with what to do", async () => {
  const { call } = await kit({ "scripts/a": "#!/no/such/interpreter\n", "scripts/b": "#!/usr/bin/env no-such-lua\n" });

  await expect(call({ relative_path: "scripts/a" })).rejects.toMatchObject({
    code: "IOError",
    message: 'Cannot run "scripts/a" of the skill "kit": "/no/such/interpreter" is not installed, or not on the PATH',
  });
  await expect(call({ relative_path: "scripts/b" })).rejects.toMatchObject({
    details: { program: "no-such-lua" },
    hint: "Ask the user to install no-such-lua, or continue without the script.",
  });
});

test("a script that is not executable runs by its first line", async () => {
  const { call } = await kit({ "scripts/a": "#!/bin/sh\necho by itself" });

  expect((await call({ relative_path: "scripts/a" })).stdout).toBe("by itself\n");
});

test("a script may work in the workspace", async () => {
  const { call, path } = await kit({ "scripts/a.sh": "pwd" });

  expect((await call({ relative_path: "scripts/a.sh", workdir: "workspace" })).stdout).toBe(`${path}/root\n`);
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

test.skipIf(!hasPython)(
  "packages of Python run as modules, and scripts import from the top of their skill",
  async () => {
    const { call } = await kit({
      "scripts/__init__.py": "",
      "scripts/report.py": 'from .tools import word\nprint(__name__, word)\nif __name__ == "__main__":\n    pass\n',
      "scripts/tools.py": 'word = "tools"\n\n\ndef a():\n    pass\n',
      "scripts/plain.py": "from scripts.tools import word\nprint(word)\n",
      "scripts/pkg/__init__.py": "",
      "scripts/pkg/__main__.py": "from ..tools import word\nimport sys\nprint(word, sys.argv[1:])\n",
    });

    expect((await call({ module: "scripts.report" })).stdout).toBe("__main__ tools\n");
    expect((await call({ relative_path: "scripts/plain.py" })).stdout).toBe("tools\n");
    expect((await call({ module: "scripts.pkg", args: ["a b"] })).stdout).toBe("tools ['a b']\n");
    const { stdout, artifacts } = await call({ relative_path: "scripts/pkg" });
    expect(stdout).toBe("tools []\n");
    expect(artifacts?.commands_run?.[0]).toMatch(/^kit: python3 -m scripts\.pkg # sha256:/);
    await expect(call({ module: "scripts.tools" })).rejects.toMatchObject({ code: "NotFound" });
    await expect(call({ module: "os;x" })).rejects.toMatchObject({ code: "InvalidArguments" });
    await expect(call({ module: "http.server" })).rejects.toMatchObject({ code: "NotFound" });
  },
);

test.skipIf(!hasPython)("a module of the workspace is not run in the place of the skill's", async () => {
  const { call, make } = await kit({ "scripts/report.py": 'import json\nprint("skill", __name__)\n' });
  const hostile = { "scripts/__init__.py": "", "scripts/report.py": 'print("other")', "json.py": 'print("other")' };
  for (const folder of ["root", "state/run/sandbox"])
    await make(Object.fromEntries(Object.entries(hostile).map(([name, text]) => [`${folder}/${name}`, text])));

  for (const workdir of ["workspace", "sandbox", "skill"])
    expect((await call({ module: "scripts.report", workdir })).stdout).toBe("skill __main__\n");
});

test("programs of the workspace are not called by name, neither for a script nor by it", async () => {
  const { call, make, path } = await kit(
    { "scripts/a": '#!/usr/bin/env sh\necho "$0"; uname\n' },
    { path: (folder) => `${folder}/root/bin:${folder}/linked:${process.env["PATH"] ?? ""}` },
  );
  await make({ "root/bin/sh": "#!/bin/sh\necho other\n", "root/bin/uname": "#!/bin/sh\necho other\n" });
  for (const name of ["sh", "uname"]) await chmod(join(path, "root/bin", name), 0o755);
  await symlink(join(path, "root/bin"), join(path, "linked"));
  await chmod(join(path, "home/.agents/skills/kit/scripts/a"), 0o755);

  expect((await call({ relative_path: "scripts/a", workdir: "workspace" })).stdout).toMatch(
    /kit\/scripts\/a\nLinux\n$/,
  );
});

// oxfmt-ignore
const WRONG = [
  { title: "more arguments than the limit",     args: { args: Array.from({ length: 257 }, () => "a") } },
  { title: "an argument over the limit",        args: { args: ["é".repeat(20_000)] } },
  { title: "arguments over the limit together", args: { args: Array.from({ length: 5 }, () => "a".repeat(30_000)) } },
  { title: "an argument with a NUL",            args: { args: ["a\0b"] } },
  { title: "arguments that are one text",       args: { args: "a b" } },
  { title: "no time",                           args: { timeout_seconds: 0 } },
  { title: "more time than there is",           args: { timeout_seconds: 601 } },
  { title: "another folder",                    args: { workdir: "/" } },
  { title: "another source",                    args: { skill: { name: "kit", source: "web" } } },
  { title: "no path",                           args: { relative_path: "" } },
  { title: "neither path nor module",           args: { relative_path: undefined } },
  { title: "both path and module",              args: { module: "scripts.a" } },
];

for (const { title, args } of WRONG) {
  test(`run_script takes no call with ${title}`, () => {
    expect(runScript.args.safeParse({ skill: "kit", relative_path: "scripts/a.sh", ...args }).success).toBe(false);
  });
}

test("a skill is named by its name, or by name and source", async () => {
  const { call } = await kit({ "scripts/a.sh": "echo ok" });

  expect((await call({ skill: { name: "kit", source: "user" }, relative_path: "scripts/a.sh" })).stdout).toBe("ok\n");
  await expect(
    call({ skill: { name: "kit", source: "project" }, relative_path: "scripts/a.sh" }),
  ).rejects.toMatchObject({ code: "NotFound" });
});

test("run_script says that it runs programs and may change files", () => {
  const { permission_class, required_permissions, side_effects, risk, audit_operation, concurrency_safe } = runScript;

  expect({ permission_class, required_permissions, side_effects, risk, audit_operation, concurrency_safe }).toEqual({
    permission_class: "bash",
    required_permissions: ["proc.exec"],
    side_effects: ["process", "files"],
    risk: "medium",
    audit_operation: "execute",
    concurrency_safe: false,
  });
});

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

/** A real runtime, and a person's skill "kit" with one script. */
async function kitOf(script: string, options: Partial<RuntimeOptions> = {}) {
  const skill = join(process.env["HOME"] ?? "", ".agents/skills/kit");
  await mkdir(join(skill, "scripts"), { recursive: true });
  await writeFile(join(skill, "SKILL.md"), "---\nname: kit\ndescription: x\n---\n");
  await writeFile(join(skill, "scripts/a.sh"), script);
  const folder = await scratch({ onApproval: () => ({ answer: "deny" }), ...options });
  const root = join(folder.path, "root");
  return {
    ...folder,
    run: () => folder.call("run_script", { skill: "kit", relative_path: "scripts/a.sh", args: [root] }),
  };
}

test.skipIf(!hasSandbox)(`what a script changes in the workspace is listed and undone${needs}`, async () => {
  const { make, run, runtime, read } = await kitOf(
    'echo own > own.txt; cd "$1"; echo new > a.txt; ln -s a.txt link; printf oops >&2',
  );
  await make({ "root/a.txt": "old\n" });

  const { error, payload, artifacts } = await run();

  expect(error).toBeNull();
  expect(artifacts.files_changed).toEqual(["a.txt", "link"]); // the run's own folder is none of the workspace
  expect(payload?.stderr).toBe("oops");
  expect((await runtime.undo(artifacts.undo_id ?? "")).error).toBeNull();
  expect(await read("root/a.txt")).toBe("old\n");
});

test.skipIf(!hasSandbox)(`a file that runs later and was planted by a script is reverted${needs}`, async () => {
  const { run, path } = await kitOf('cd "$1"; echo evil > .envrc; echo fine > fine.txt');

  const { payload, artifacts } = await run();

  expect(payload?.stderr).toMatch(/\.envrc: set aside: it runs later/);
  expect(artifacts.files_changed).toEqual(["fine.txt"]);
  expect((await readdir(join(path, "root"))).toSorted()).toEqual(["fine.txt"]);
});

test.skipIf(!hasSandbox)(`a script is kept from what rules close, and stopped when it finds it${needs}`, async () => {
  const rules: NonNullable<RuntimeOptions["config"]>["rules"] = [
    { effect: "deny", path: "secrets/**" },
    { effect: "deny", permission: "fs.write", path: "fixed/**" },
  ];
  const { run, make, path } = await kitOf(
    'cd "$1"; cat secrets/key; echo x >> fixed/a; echo x > secrets/new; touch begun; [ -e wait ] || exit 0; while :; do sleep 0.05; done',
    { config: { rules } },
  );
  await make({ "root/secrets/key": "CANARY\n", "root/fixed/a": "old\n" });

  const { payload, artifacts } = await run();

  expect(payload?.stdout).not.toMatch(/CANARY/);
  expect(artifacts.files_changed).toEqual(["begun"]);
  expect(await readdir(join(path, "root/secrets"))).toEqual(["key"]);
  await make({ "root/wait": "" });
  await rm(join(path, "root/begun"));
  await rename(join(path, "root/secrets"), join(path, "gone"));
  const running = run();
  await expect.poll(() => existsSync(join(path, "root/begun")), { timeout: 30_000 }).toBe(true);
  await make({ "root/secrets/more": "CANARY\n" });
  expect((await running).error?.message).toMatch(
    /was stopped: ".*secrets" was created or replaced while the command ran/,
  );
});
