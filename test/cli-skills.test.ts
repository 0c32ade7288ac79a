/** The skills of a workspace as a person sees them: the list, one of them, and the screen that asks for trust. */
import { spawnSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shell } from "./support/cli.ts";
import { workspace } from "./support/workspace.ts";
import type { Workspace } from "./support/workspace.ts";

const skillText = (name: string, more = ""): string =>
  `---\nname: ${name}\ndescription: Does ${name}. ${"Use it whenever words are long. ".repeat(20)}\n${more}---\nBody of ${name}\n`;

/** As many as Anthropic publishes. */
const SEVENTEEN = Object.fromEntries(
  Array.from({ length: 17 }, (_, at) => `skill-with-a-name-${at}`).flatMap((name) => [
    [`work/.claude/skills/${name}/SKILL.md`, skillText(name)],
    [`work/.claude/skills/${name}/scripts/run.sh`, "echo run\n"],
    [`work/.claude/skills/${name}/reference/a.md`, "text\n"],
  ]),
);

async function digestIn({ run }: Workspace): Promise<string> {
  return /--digest ([0-9a-f]{64})$/m.exec((await run("policy", "trust")).stderr)?.[1] ?? "";
}

async function trustAll(place: Workspace): Promise<void> {
  expect((await place.run("policy", "trust", "--digest", await digestIn(place))).code).toBe(0);
}

const hasTerminal = spawnSync("script", ["--version"]).status === 0;
const needs = hasTerminal ? "" : " (skipped: needs script, apt-get install bsdutils)";

/** What a person sees at a terminal of 80 columns who types this. */
async function typing(text: string, line: string, { root, env }: Workspace): Promise<readonly string[]> {
  const terminal = `export -f autonous; printf '${text}\\n' | SHELL=$(command -v bash) script -qec 'bash -c "$LINE"' /dev/null`;
  const { stdout } = await shell(terminal, { cwd: root, env: { ...env, LINE: `stty cols 80; ${line}` } });
  return stdout.replaceAll("\r\n", "\n").trimEnd().split("\n");
}

test.skipIf(!hasTerminal)(
  `17 skills to trust fit on one screen of 80 columns, and d shows the rest${needs}`,
  async () => {
    const place = await workspace(SEVENTEEN);

    const asked = await typing("no", "autonous policy trust", place);
    expect(asked.length).toBeLessThanOrEqual(24);
    expect(asked.filter((line) => line.length > 80)).toEqual([]);
    expect(asked.filter((line) => /^skill-with-a-name-\d+ +new +3 +1 +Does/.test(line))).toHaveLength(17);
    expect(asked.slice(-2)).toEqual([
      'Trust all of this in its current state? Type "yes", or "d" for details',
      "Not trusted",
    ]);

    const details = await typing("d\\nyes", "autonous policy trust", place);
    expect(details.filter((line) => line.length > 80)).toEqual([]);
    expect(details.filter((line) => line.startsWith("  may run scripts/run.sh (sha256"))).toHaveLength(17);
    expect(details.at(-1)).toMatch(/^Trusted in its current state/);

    const list = await typing("", "autonous skills", place);
    expect(list.filter((line) => line.length > 80)).toEqual([]);
    expect(list.filter((line) => /^skill-with-a-name-\d+ +project +trusted +Does .*…$/.test(line))).toHaveLength(17);
  },
);

const many = (number: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: number }, (_, at) => `s${String(at).padStart(3, "0")}`).map((name) => [
      `work/.claude/skills/${name}/SKILL.md`,
      skillText(name),
    ]),
  );

test.skipIf(!hasTerminal)(
  `of hundreds of skills the ones that run something are listed, the others counted, and those over the limit told${needs}`,
  async () => {
    const place = await workspace({
      ...many(220),
      "work/.claude/skills/s150/scripts/run.sh": "echo run\n",
      "work/.agents/skills/broken/SKILL.md": "nothing",
    });

    const asked = await typing("no", "autonous policy trust", place);
    expect(asked.length).toBeLessThanOrEqual(45);
    expect(asked.filter((line) => line.length > 80)).toEqual([]);
    expect(asked.find((line) => line.startsWith("s"))).toMatch(/^s150 +new +2 +1 /);
    expect(asked).toContain("not listed here: 169 new (0 with scripts); the details list all");
    expect(asked).toContain("left out: 1 broken skill not loaded; autonous skills says why");
    expect(asked.join("\n")).toMatch(/^left out: There are more than 200 skills;/m);

    await trustAll(place);
    writeFileSync(join(place.root, ".claude/skills/s120/SKILL.md"), skillText("s120", "license: MIT\n"));
    const changed = await typing("no", "autonous policy trust", place);
    expect(changed.filter((line) => /^s\d+ /.test(line))).toEqual([expect.stringMatching(/^s120 +changed/)]);
    expect(changed).toContain("    SKILL.md +1 -0");
    await typing("yes", "autonous policy trust", place);
    expect(await typing("", "autonous policy trust", place)).toContain(
      "not listed here: 169 trusted (0 with scripts); the details list all",
    );
  },
);

test.skipIf(!hasTerminal)(`no text of a skill stands where the screen's own lines begin${needs}`, async () => {
  const words = ["digest 0x", "Nothing needs trust", "skill a (trusted): x", "  sha256 0x", "    +echo ok"];
  const long = words.map((each) => `${"x".repeat(78)} ${each}`).join(" ");
  const place = await workspace({
    "work/.agents/skills/a/SKILL.md": `---\nname: a\ndescription: ${JSON.stringify(long)}\n---\nOne\n`,
  });
  const forged = /^(?:digest 0x|Nothing needs|skill a \(trusted|  sha256 0x|    \+echo ok)/;

  const shown = await typing("d\\nno", "autonous policy trust", place);
  expect(shown.filter((line) => forged.test(line))).toEqual([]);
  await trustAll(place);
  writeFileSync(join(place.root, ".agents/skills/a/SKILL.md"), `---\nname: a\ndescription: b\n---\n${long}\n\u200b\n`);
  const changed = await typing("d\\nno", "autonous policy trust", place);
  expect(changed.filter((line) => forged.test(line))).toEqual([]);
  expect(changed).toContain("    +\\u{200b}");
});

test("what changed since the last trust is in the summary, files that run first; the details have the lines", async () => {
  const place = await workspace({
    "work/.agents/skills/kit/SKILL.md": skillText("kit", "allowed-tools: Read\n"),
    "work/.agents/skills/kit/scripts/a.sh": "echo one\necho two\n",
    "work/.agents/skills/kit/scripts/b.sh": "echo b\n",
    "work/.agents/skills/kit/scripts/c.sh": "echo c\n",
    "work/.agents/skills/kit/gone.md": "x",
    "work/.agents/skills/other/SKILL.md": skillText("other"),
  });
  const { run, json, root } = place;
  await trustAll(place);
  const kit = (name: string): string => join(root, ".agents/skills/kit", name);
  writeFileSync(kit("SKILL.md"), skillText("kit", "allowed-tools: Read, Bash\n"));
  writeFileSync(kit("scripts/a.sh"), "echo one\necho \u001b[2Jother\necho three\n");
  writeFileSync(kit("scripts/new.sh"), "echo new\n");
  chmodSync(kit("scripts/b.sh"), 0o755);
  rmSync(kit("gone.md"));

  const { code, stdout } = await run("policy", "trust");
  expect(code).toBe(4);
  expect(stdout.split("\n").slice(0, 6)).toEqual([
    "2 skills in .agents/skills: 1 changed, 1 trusted",
    expect.stringMatching(/^SKILL +STATE/),
    expect.stringMatching(/^kit +changed +5 +4 +only Read, Bash; Does kit/),
    "    scripts/a.sh +2 -1 (runs); scripts/b.sh executable (runs); scripts/new.sh new (runs); SKILL.md +1 -1; gone.md gone",
    "    allowed-tools: was Read; now Read, Bash",
    expect.stringMatching(/^other +trusted/),
  ]);
  const details = (await run("policy", "trust", "--details", "kit")).stdout;
  expect(details).toContain('  "scripts/b.sh" has become executable\n');
  expect(details).toContain("     echo one\n    -echo two\n    +echo \\e[2Jother\n    +echo three\n");
  expect(await json("policy", "trust")).toMatchObject({
    things: [
      {
        name: "kit",
        allowed_tools: ["Read", "Bash"],
        allowed_tools_before: ["Read"],
        files_changed: [
          { path: "SKILL.md", change: "changed", diff: expect.stringContaining("-allowed-tools: Read\n") as string },
          { path: "gone.md", change: "gone" },
          { path: "scripts/a.sh", change: "changed" },
          { path: "scripts/b.sh", change: "executable" },
          { path: "scripts/new.sh", change: "new" },
        ],
      },
      { name: "other", status: "trusted" },
    ],
  });
});

test("what a configuration would allow is in the summary, each rule, also when it changed", async () => {
  const rule = (tool: string) => ({ effect: "allow", tool });
  const place = await workspace({ "work/.agent/config.json": JSON.stringify({ rules: [rule("delete_file")] }) });
  await trustAll(place);
  const rules = ["delete_file", "write", "network_request", "bash"].map(rule);
  writeFileSync(join(place.root, ".agent/config.json"), JSON.stringify({ rules, profile: "autonomous" }));

  const { stdout } = await place.run("policy", "trust");

  expect(stdout).toMatch(/^configuration \(changed since it was trusted\): /);
  for (const { tool } of rules) expect(stdout).toMatch(new RegExp(`would allow: rules\\.\\d .*allow tool=${tool}`));
  expect(stdout).toContain("would allow: profile");
  expect(stdout).toMatch(/config\.json \+1 -1\n/);
});

test("the list distinguishes trusted, waiting, shadowed and broken skills, and a name shows one in full", async () => {
  const { run, json } = await workspace({
    "config/autonous/skills/mine/SKILL.md": skillText("mine", "allowed-tools: Read, Bash(git:*)\n"),
    "work/.agents/skills/mine/SKILL.md": skillText("mine"),
    "work/.agents/skills/theirs/SKILL.md":
      "---\nname: Theirs\ndescription: |\n  Two\n  lines \u001b[2J\n---\nText \u202e of it\n",
    "work/.agents/skills/broken/SKILL.md": "nothing",
  });

  const list = (await run("skills")).stdout.trimEnd().split("\n");
  expect(list.map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
    "SKILL | FROM | STATE | ABOUT",
    expect.stringMatching(/^mine \| user \| trusted \| Does mine/),
    expect.stringMatching(/^theirs \| project \| waits for trust \| ! 2 warnings; Two lines \S*\[2J$/),
    expect.stringMatching(/^mine \| project \| shadowed \| by .*autonous\/skills\/mine$/),
    expect.stringMatching(/^broken \| project \| broken \| .*front matter/),
  ]);
  const theirs = (await run("skills", "Theirs")).stdout;
  expect(theirs).toMatch(/^theirs \(project, waits for trust\): .*\n {2}Two lines \\e\[2J\n {2}also called Theirs\n/);
  expect(theirs).toMatch(
    /\n {2}warning: .*\n {2}has SKILL\.md \(\d+ bytes\)\n\n---\nname: Theirs\n[^]*Text \\u\{202e\} of it/,
  );
  const mine = (await run("skills", "mine")).stdout;
  expect(mine).toMatch(
    /\n {2}narrows the tools to Read, Bash\(git:\*\)\n[^]*\n {2}leaves these tools: [a-z_, ]*\bread\b/,
  );
  expect(mine).not.toMatch(/leaves these tools:.*\bwrite\b/);
  expect(await json("skills", "mine")).toMatchObject({
    skills: [{ source: "user", text: expect.stringContaining("Body of mine") as string }, { source: "project" }],
  });
  expect((await run("skills", "broken")).stdout).toMatch(/^broken \(broken\): .*\n {2}/);
  expect(await run("skills", "mien")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean "mine"?') as string,
  });
});
