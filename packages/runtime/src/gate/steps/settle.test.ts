import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../../test/support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });
const lines = String(pem).trimEnd().split("\n");
/** Lines of the key's body, each long enough to be told from other text. */
const body = lines.slice(1, -1).filter((line) => line.length > 20);
/** A key whose first line is missing: no tool can know it by its beginning. */
const tail = `${lines.slice(1).join("\n")}\n`;

interface Tried {
  readonly title: string;
  readonly runs?: true;
  /** What a background command printed was redacted before this call. */
  readonly isEarlier?: true;
  readonly call: (folder: Scratch) => Promise<ToolCallResult>;
}

function dataOf({ payload }: ToolCallResult): { readonly background_id: string; readonly state: string } {
  return payload?.data as ReturnType<typeof dataOf>;
}

async function inBackground({ call }: Scratch, cmd: string): Promise<ToolCallResult> {
  const started = await call("bash", { cmd, is_background: true });
  const { background_id } = dataOf(started);
  for (;;) {
    const result = await call("background_output", { background_id, wait_seconds: 5 });
    if (dataOf(result).state !== "running") return result;
  }
}

const SCRIPT = { skill: "kit", relative_path: "scripts/show.sh" };
const patch = ["*** Begin Patch", "*** Add File: b.txt", ...lines.slice(2).map((line) => `+${line}`), "*** End Patch"];

// oxfmt-ignore
const TRIED: readonly Tried[] = [
  { title: "read",                        call: ({ call }) => call("read", { path: "notes.txt" }) },
  { title: "read, from a line on",        call: ({ call }) => call("read", { path: "notes.txt", offset: 9, limit: 3 }) },
  { title: "read, one line",              call: ({ call }) => call("read", { path: "notes.txt", offset: 7, limit: 1 }) },
  { title: "read, by bytes",              call: ({ call }) => call("read", { path: "notes.txt", offset_bytes: 300, limit_bytes: 400 }) },
  { title: "grep for a line",             call: ({ call }) => call("grep", { pattern: body[9]?.slice(0, 6).replaceAll("+", "\\+") }) },
  { title: "grep for all lines",          call: ({ call }) => call("grep", { pattern: "[A-Za-z0-9+/]{60}", path: "notes.txt" }) },
  { title: "grep with lines around",      call: ({ call }) => call("grep", { pattern: "END", context: 6 }) },
  { title: "bash, the last lines",        runs: true, call: ({ call }) => call("bash", { cmd: "tail -n 6 notes.txt" }) },
  { title: "bash, lines in the middle",   runs: true, call: ({ call }) => call("bash", { cmd: "sed -n 9,12p notes.txt >&2" }) },
  { title: "bash, numbered lines",        runs: true, call: ({ call }) => call("bash", { cmd: "cat -n notes.txt" }) },
  { title: "bash, a diff",                runs: true, call: ({ call }) => call("bash", { cmd: "diff -u /dev/null notes.txt; true" }) },
  { title: "bash, a search",              runs: true, call: ({ call }) => call("bash", { cmd: "grep -rn '[A-Za-z0-9+/]\\{60\\}' ." }) },
  { title: "bash, in its own words",      runs: true, call: ({ call }) => call("bash", { cmd: `cat <<'EOF'\n${tail}EOF\n` }) },
  { title: "a command in the background", runs: true, isEarlier: true, call: (folder) => inBackground(folder, "tail -n 8 notes.txt; head -n 9 notes.txt >&2") },
  { title: "run_script",                  runs: true, call: ({ call, path }) => call("run_script", { ...SCRIPT, args: [join(path, "root/notes.txt")] }) },
  { title: "display",                     call: ({ call }) => call("display", { content: `It says\n${tail}`, title: body[3], thought: tail, evidence: [body[5]] }) },
  { title: "write",                       call: ({ call }) => call("write", { path: "a.txt", content: tail }) },
  { title: "apply_patch",                 call: ({ call }) => call("apply_patch", { patch_text: patch.join("\n") }) },
  { title: "edit that finds nothing",     call: ({ call }) => call("edit", { path: "plain.txt", find: tail, replace: "x" }) },
];

/** All stored text, except the file contents for undo; an empty file may be unreadable for its own user. */
function stored(stateDir: string): readonly string[] {
  return readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/objects|undo/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path).size > 0)
    .map((path) => readFileSync(path, "latin1"));
}

for (const { title, runs, isEarlier = false, call } of TRIED) {
  test.skipIf(runs === true && !hasSandbox)(
    `nothing of a private key without its first line leaves: ${title}${runs === true ? needs : ""}`,
    async () => {
      const skill = join(process.env["HOME"] ?? "", ".agents/skills/kit");
      mkdirSync(join(skill, "scripts"), { recursive: true });
      writeFileSync(join(skill, "SKILL.md"), "---\nname: kit\ndescription: x\n---\n");
      writeFileSync(join(skill, "scripts/show.sh"), 'tail -n 7 "$1"; head -n 7 "$1" >&2\n');
      const folder = await overheard();
      await folder.make({
        "root/notes.txt": tail,
        "root/plain.txt": "nothing\n",
      });
      const result = await call(folder);
      const all = folder.all(result);
      for (const line of body) expect(all).not.toContain(line.slice(0, 20));
      expect(result).toMatchObject({ redacted: !isEarlier });
      expect(all).toContain("***REDACTED***");
    },
  );
}

const token = ["gh", "p_", "a1B2".repeat(9)].join("");

/** A runtime with a listener for all that it tells, and a person who says yes to everything. */
async function overheard() {
  const told: unknown[] = [];
  const folder = await scratch({
    onEvent: (event) => told.push(event),
    onApproval: (request) => {
      told.push(request);
      return { answer: "grant" };
    },
  });
  return {
    ...folder,
    told,
    all: (results: unknown) => JSON.stringify([results, told, stored(folder.runtime.state_dir)]),
  };
}

test("a secret in the name of a file is in no result, artifact, list, suggestion or record", async () => {
  const { call, make, path, runtime, all } = await overheard();
  await make({
    [`root/${token}.txt`]: "old\n",
    [`root/dir-${token}/a.txt`]: "a\n",
    [`root/other/${token}.json`]: "{}\n",
  });
  const near = `${token.slice(0, -1)}3.txt`;
  const results = [
    await call("ls", {}),
    await call("ls", { path: "other" }),
    await call("find", { name_pattern: "*" }),
    await call("grep", { pattern: "old" }),
    await call("write", { path: `${token}.txt`, content: "new\n" }),
    await call("write", { path: `new-${token}/b.txt`, content: "b\n" }),
    await call("edit", { path: `dir-${token}/a.txt`, find: "a", replace: "b" }),
    await call("delete_file", { path: `other/${token}.json` }),
    await call("read", { path: near }),
    await call("read", { path: `other/${token}.jsn` }),
    await call("edit", { path: near, find: "a", replace: "b" }),
    await runtime.undo(token),
  ];
  const undone = results.map(({ artifacts }) => artifacts.undo_id).filter((id) => id !== undefined);
  expect(undone).toHaveLength(4);
  writeFileSync(join(path, `root/${token}.txt`), "changed by a person\n");
  for (const id of undone) results.push(await runtime.undo(id));
  results.push(await runtime.undo(runtime.run_id));
  expect(all(results)).not.toContain(token.slice(0, -1));
  expect(results[6]?.artifacts.files_changed).toEqual(["dir-***REDACTED***/a.txt"]);
  expect(results[12]?.ok).toBe(false);
  expect(results[13]?.ok).toBe(true);
});

test.skipIf(!hasSandbox)(`a token that a command writes in pieces is in no result or record${needs}`, async () => {
  const { call, all } = await overheard();
  const rest = token.slice(4);
  const results = [
    await call("bash", { cmd: `echo gh''p_${rest}` }),
    await call("bash", { cmd: `printf '%s\\n' \\g\\h\\p_${rest}` }),
    await call("bash", { cmd: `touch "gh"p_${rest}.txt && ls` }),
    await call("bash", { cmd: `: gh""p_${rest}; false` }),
    await call("display", { content: `run this: export T=g"h"p_${rest}` }),
  ];
  const text = all(results);
  expect(text).not.toContain(rest);
  expect(results.map(({ redacted }) => redacted)).toEqual([true, true, true, true, true]);
  expect(results[0]?.payload?.stdout).toBe("***REDACTED***\n");
  expect(results[0]?.artifacts.commands_run).toEqual(["echo ***REDACTED***"]);
});
