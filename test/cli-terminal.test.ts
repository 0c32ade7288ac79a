import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { autonous, shell } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import { hasTerminal, needsTerminal as needs, openTerminal } from "./support/terminal.ts";

/** What a command shows at a terminal of 80 columns, without colours and without prompts. */
async function atTerminal(line: string, options: { cwd: string; env?: Record<string, string> }): Promise<string[]> {
  const env = { ...options.env, NO_COLOR: "1" };
  const { output } = await openTerminal(line, { cwd: options.cwd, env }).ended;
  // A line that is redrawn in place does not stay.
  const staying = output.replaceAll("\r\n", "\n").replaceAll(/[^\n]*\r\u001b\[K/g, "");
  return staying.split("\n");
}

test.skipIf(!hasTerminal)(`at a terminal everything fits in 80 columns, without colours${needs}`, async () => {
  const { path: cwd, make } = await scratchFolder();
  const folder = `${"a-rather-long-name-of-a-folder/".repeat(4)}end`;
  await make({ [`${folder}/a.txt`]: "" });
  const store = await openStore({ file: join(stateOf(cwd), "autonous.db"), clock: Date.now });
  await store.inbox.ingest({ source: "http", lane: "one", text: "a long task ".repeat(20) });
  await store.close();
  await autonous(["call", "ls", JSON.stringify({ path: folder })], { cwd });
  await autonous(["call", "ls", JSON.stringify({ path: `/etc/${folder}` })], { cwd });
  const ran = await autonous(["run", `/ls ${folder}`, "--json"], { cwd });
  const { run_id } = JSON.parse(ran.stdout.trimEnd().split("\n").at(-1) ?? "") as { run_id: string };
  // oxfmt-ignore
  const cases = [
    { line: "autonous tools",                  shows: /^TOOL +RISK/ },
    { line: "autonous audit show",             shows: /^WHEN +TOOL +OUTCOME +RULE +ARGUMENTS/ },
    { line: "autonous tasks list",             shows: /^TASK +CREATED +STATE +CHAT +TEXT/ },
    { line: "autonous events tail",            shows: /Z agent\.completed/ },
    { line: `autonous events tree ${run_id}`,  shows: /turn 1 · completed/ },
    { line: "autonous doctor",                 shows: /^ok +node/ },
    { line: `autonous run /ls ${folder} >/dev/null`, shows: /^ {2}ok \d+ ms {2}ls/ },
    { line: "autonous call --help",            shows: /^Usage: autonous call/ },
  ];
  for (const { line, shows } of cases) {
    const lines = await atTerminal(line, { cwd });
    expect({ line, found: lines.some((each) => shows.test(each)), lines }).toMatchObject({ line, found: true });
    expect({ line, wide: lines.filter((each) => each.length > 80) }).toEqual({ line, wide: [] });
    expect(lines.join("")).not.toContain("\u001b");
  }
  const piped = await autonous(["audit", "show"], { cwd });
  expect(piped.stdout).toContain(folder);
});

test.skipIf(!hasTerminal)(
  `a call that needs approval can be approved only by a person at a terminal${needs}`,
  async () => {
    const { path: cwd, make } = await scratchFolder();
    await make({
      "sub/b.txt": "",
      "config/autonous/config.json": '{"rules":[{"effect":"confirm","tool":"ls","path":"sub/**"}]}',
    });
    const env = { XDG_CONFIG_HOME: join(cwd, "config") };
    const refused = await autonous(["call", "ls", '{"path":"sub"}'], { cwd, env });
    expect(refused).toMatchObject({ code: 4, stdout: "" });
    const replay = /^To approve it, at a terminal: (.*)$/m.exec(refused.stderr)?.[1] ?? "";
    expect(replay).toMatch(/^autonous call ls '\{.*\}' --approve [0-9a-f]{64}$/);

    const unattended = await shell(replay, { cwd, env });
    const approved = await atTerminal(replay, { cwd, env });
    const other = await atTerminal(`${replay.replace(/[0-9a-f]{64}$/, "0".repeat(64))} --non-interactive`, {
      cwd,
      env,
    });

    expect(unattended.code).toBe(4);
    expect(approved).toContain("b.txt");
    expect(other).not.toContain("b.txt");
    const { stdout } = await autonous(["audit", "show", "--json"], { cwd, env });
    const records = JSON.parse(stdout) as { result: { ok: boolean }; policy: { approved: boolean | null } }[];
    expect(records.map(({ result, policy }) => [result.ok, policy.approved])).toEqual([
      [false, null],
      [true, true],
      [false, null],
      [false, null],
    ]);
  },
);
