/** What `run` and `chat` show of commands and changes, at terminals of 80 and of 200 columns, and elsewhere. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import { drawn } from "./support/drawn.ts";
import { scratchFolder } from "./support/scratch.ts";
import { hasTerminal, needsTerminal as needs, openTerminal } from "./support/terminal.ts";

const atTerminal = test.skipIf(!hasTerminal);

const CONTENT = Array.from({ length: 80 }, (_, i) => `${i + 1}: "a line" of a file with some text in it\n`).join("");
const STORED = "x".repeat(6000);
const LONG = `long ${"word ".repeat(60)}end`;
const BUILD = "for i in $(seq 1 40); do echo step $i; done; printf 'Continue'; sleep 1.5; echo; echo ${UNSET:-done}";
const FAIL = `echo on stdout; for i in $(seq 1 30); do echo "error $i" >&2; done; echo ${LONG} >&2; exit 3`;

type Call = readonly [string, object];

const CALLS: readonly Call[] = [
  ["bash", { cmd: BUILD }],
  ["bash", { cmd: FAIL }],
  ["write", { path: "new.txt", content: CONTENT }],
  ["write", { path: "stored.txt", content: `first line\n${STORED}` }],
  ["delete_file", { path: "old.txt" }],
  ["bash", { cmd: "rm gone.txt; echo made > made.txt; printf '\\033[31mred\\033[0m\\033]0;title\\007\\tend\\n'" }],
];

async function world(): Promise<{ cwd: string; env: Record<string, string>; run: string }> {
  const { path, make } = await scratchFolder();
  const steps = CALLS.map(([name, args]) => ({ reply: { tool_calls: [{ name, arguments: args }] } }));
  await make({
    "work/old.txt": "old\n",
    "work/gone.txt": "x\n",
    "model.json": JSON.stringify([...steps, { reply: { final_answer: "All done." } }]),
    "config/autonous/config.json": JSON.stringify({
      rules: [
        { effect: "allow", tool: "delete_file" },
        { effect: "allow", tool: "bash" },
      ],
    }),
  });
  const env = { XDG_CONFIG_HOME: join(path, "config"), NO_COLOR: "1" };
  return { cwd: join(path, "work"), env, run: `run --model script:${path}/model.json` };
}

const ENDS = [
  "… 37 more lines",
  "step 40",
  "… 11 more lines",
  "error 30",
  "ExitNonZero: The command exited with code 3",
  "created new.txt",
  '+1: "a line" of a file with some text in it',
  "… 72 more lines",
  "+first line",
  "… over 1 more line",
  "deleted old.txt",
  "created made.txt",
  "deleted gone.txt",
  "red end",
];

for (const columns of [80, 200]) {
  atTerminal(`${columns} columns: the end of output while a command runs, and folded after it${needs}`, async () => {
    const { cwd, env, run } = await world();
    const terminal = openTerminal(`autonous ${run} go 2>&1`, { cwd, env, columns });
    await terminal.sees("step 40");
    const before = await terminal.sees("Continue"); // no line end follows it, and the command still runs
    expect(before).not.toContain("ok ");
    const { code, output } = await terminal.ended;
    expect(code).toBe(0);
    const lines = drawn(output, columns);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    expect(output).not.toContain("\u001b]0;");
    const text = lines.map((line) => line.trim());
    for (const end of ENDS) expect(text).toContain(end);
    // What was seen while it ran is gone: each line of a command is there once.
    expect(text.filter((line) => line === "step 40")).toHaveLength(1);
    expect(text.filter((line) => line.startsWith("running"))).toEqual([]);
    expect(lines.join("\n")).not.toContain("step 1\n");
    expect(text.find((line) => line.includes("write new.txt"))).toMatch(/content=\(80 lines, \d+ characters\)/);
    expect(lines.some((line) => /autonous events tree run_\w{26}/.test(line))).toBe(true);
  });
}

test("elsewhere the same is plain lines, none of them long; --verbose shows all of it", async () => {
  const { cwd, env, run } = await world();
  const piped = await autonous([...run.split(" "), "go"], { cwd, env });
  expect(piped).toMatchObject({ code: 0, stdout: "All done.\n" });
  const lines = piped.stderr.split("\n");
  expect(lines.filter((line) => line.length > 700)).toEqual([]);
  expect(lines.join("\n")).not.toContain("\u001b");
  for (const end of ENDS) expect(lines.map((line) => line.trim())).toContain(end);
  const again = await world();
  const all = await autonous([...again.run.split(" "), "--verbose", "go"], again);
  const every = all.stderr.split("\n").map((line) => line.trim());
  for (const line of ["step 1", "step 40", "Continue", "error 1", LONG, '+80: "a line" of a file with some text in it'])
    expect(every).toContain(line);
  expect(every.filter((line) => line === "step 40")).toHaveLength(1);
});

const ANSWER = [
  "# What I found",
  "The **port** is set in `src/app.ts`; [the manual](https://example.com/manual) says why, at some length and in many words.",
  "1. read it\n2. change it\n   - carefully",
  "```ts\nconst port = 80;\n```",
  "| file | line |\n| --- | --- |\n| app.ts | 12 |",
  "> quoted \u001b[2J text",
  "The end.",
].join("\n\n");

for (const columns of [80, 200]) {
  atTerminal(`${columns} columns: Markdown is rendered as it comes, reasoning stands apart${needs}`, async () => {
    const { path: cwd } = await scratchFolder();
    const rounds = [{ text: ANSWER, reasoning: "First I look at the port. ".repeat(40) }];
    const model = await startFakeModel({ key: null, script: { rounds, repeat: true }, piece_characters: 9 });
    onTestFinished(() => model.close());
    const run = `autonous run --model compatible:fake@${model.url}/compatible/v1 tell`;
    const colourful = { NO_COLOR: "", FORCE_COLOR: "", TERM: "xterm-256color" };
    const { code, output } = await openTerminal(run, { cwd, env: colourful, columns }).ended;
    expect(code).toBe(0);
    const lines = drawn(output, columns);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    const text = lines.map((line) => line.trim());
    for (const line of [
      "What I found",
      "1. read it",
      "◦ carefully",
      "const port = 80;",
      "app.ts │ 12",
      "│ quoted \\e[2J text",
    ])
      expect(text.filter((each) => each === line)).toEqual([line]);
    expect(text.join(" ")).toContain("The port is set in src/app.ts; the manual (https://example.com/manual) says why");
    expect(output).toContain("\u001b[1mport\u001b[22m");
    expect(output).not.toContain("\u001b[2J");
    const thoughts = text.filter((line) => line.startsWith("│") && line.includes("the port."));
    expect(thoughts.length).toBeGreaterThan(2);
    expect(thoughts.length).toBeLessThan(6);
    expect(text.indexOf(thoughts.at(-1) ?? "")).toBeLessThan(text.indexOf("What I found"));
    if (columns === 200) return;
    // Without colours, and where stdout is not a terminal, the text stays as the model wrote it.
    const plainly = await openTerminal(`${run}; ${run} >out.txt 2>/dev/null`, { cwd, env: { NO_COLOR: "1" } }).ended;
    expect(drawn(plainly.output, 80).map((line) => line.trim())).toContain("| app.ts | 12 |");
    const { stdout } = await autonous(run.split(" ").slice(1), { cwd });
    expect(stdout).toBe(`${ANSWER.replace("\u001b", "\\e")}\n`);
  });
}
