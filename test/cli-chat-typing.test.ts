import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shell } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";
import type { Terminal } from "./support/terminal.ts";

const atTerminal = test.skipIf(!hasTerminal);
const PROMPT = "\u001b[0J> ";
const TAB = "\t";
const UP = "\u001b[A";
const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`;

interface World {
  readonly cwd: string;
  chat(columns: number, more?: string): Terminal;
  tasks(): Promise<string[]>;
}

async function world(answers: number): Promise<World> {
  const folder = await scratchFolder();
  await folder.make({
    "work/README.md": "read me\n",
    "work/src/cli/chat.ts": "chat\n",
    "work/src/cli/chart.ts": "chart\n",
    "work/.ssh/id_rsa": "key\n",
    "model.json": JSON.stringify(
      Array.from({ length: answers }, (_, at) => ({ reply: { final_answer: `Answer ${at + 1}.` } })),
    ),
  });
  const cwd = join(folder.path, "work");
  const env = { XDG_CONFIG_HOME: join(folder.path, "config"), NO_COLOR: "1" };
  return {
    cwd,
    chat: (columns, more = "") =>
      openTerminal(`autonous chat --model script:${folder.path}/model.json ${more}`, { cwd, env, columns }),
    async tasks() {
      const { stdout } = await shell(`cat ${stateOf(cwd)}/runs/*/events.jsonl`, { cwd });
      const events = stdout.trimEnd().split("\n");
      const started = events.filter((line) => line.includes('"type":"agent.started"'));
      return started.map((line) => (JSON.parse(line) as { payload: { task: string } }).payload.task);
    },
  };
}

for (const columns of [80, 200])
  atTerminal(
    `Tab, pasted text, several lines and a line of status, at ${columns} columns${needsTerminal}`,
    async () => {
      const { chat, tasks, cwd } = await world(4);
      const terminal = chat(columns);
      expect(await terminal.sees(PROMPT)).toContain("\u001b[?2004h");
      terminal.type("/hel");
      await terminal.sees("/hel");
      terminal.type(TAB);
      await terminal.sees("p");
      terminal.type("\r");
      await terminal.sees("/sessions");
      await terminal.sees(PROMPT);

      terminal.type("see @src/cli/ch");
      await terminal.sees("@src/cli/ch");
      terminal.type(TAB);
      await terminal.sees("a"); // what both have in common
      terminal.type(TAB);
      const listed = plain(await terminal.sees("@src/cli/chat.ts"));
      expect(listed).toContain("@src/cli/chart.ts");
      await terminal.sees("> see @src/cli/cha");
      terminal.type("\u0003"); // forgets the line
      await terminal.sees("^C");
      await terminal.sees(PROMPT);

      terminal.type(`sum up: ${paste("one\rtwo\r\rthree\r")} please`);
      await terminal.sees("sum up: [pasted 1: 4 lines] please");
      terminal.type("\r");
      await terminal.sees("Answer 1.");
      const status = plain(await terminal.sees(PROMPT)).split("\n");
      const line = status.find((each) => each.includes("context")) ?? "";
      expect(line).toMatch(/^script:model\.json \| guarded \| about .* in, \d+ out \| cost unknown \| context \d+%$/);
      expect(line.length).toBeLessThanOrEqual(80);

      terminal.type(`${paste(`short ${"x".repeat(20)}`)}\r`);
      await terminal.sees("Answer 2.");
      await terminal.sees(PROMPT);
      terminal.type("two \\\r");
      await terminal.sees("… ");
      terminal.type("lines\r");
      await terminal.sees("Answer 3.");
      await terminal.sees(PROMPT);
      // Keys in pasted text press nothing: no Enter, no Ctrl-C, no Ctrl-D, no Tab.
      terminal.type(paste("a\u0003\u0004\u001b[A\tb"));
      await terminal.sees("[pasted 1: 5 characters]");
      terminal.type("\r");
      await terminal.sees("Answer 4.");
      await terminal.sees(PROMPT);
      terminal.type("\u0004");
      const { code, output } = await terminal.ended;
      expect(code).toBe(0);
      expect(output.lastIndexOf("\u001b[?2004l")).toBeGreaterThan(output.lastIndexOf("\u001b[?2004h"));
      expect(await tasks()).toEqual([
        "sum up: one\ntwo\n\nthree please",
        `short ${"x".repeat(20)}`,
        "two \nlines",
        "a[A\tb",
      ]);
      expect(statSync(join(stateOf(cwd), "chat-history.jsonl")).mode & 0o777).toBe(0o600);
    },
  );

atTerminal(`earlier messages are there in the next chat, without their secrets${needsTerminal}`, async () => {
  const { chat, tasks, cwd } = await world(3);
  const token = `ghp_${"a1B2".repeat(9)}`;
  const first = chat(80);
  await first.sees(PROMPT);
  first.type(`use ${token}\r`);
  await first.sees("Answer 1.");
  await first.sees(PROMPT);
  first.type("second\r");
  await first.sees("Answer 2.");
  await first.sees(PROMPT);
  first.type("\u0004");
  await first.ended;
  const kept = await shell(`cat ${stateOf(cwd)}/chat-history.jsonl`, { cwd });
  expect(kept.stdout).not.toContain(token);

  const next = chat(80);
  await next.sees(PROMPT);
  next.type(UP);
  await next.sees("second");
  next.type(UP);
  await next.sees("use ***REDACTED***");
  next.type("\u001b[B\r"); // the arrow down, and Enter
  await next.sees("Answer 1.");
  await next.sees(PROMPT);
  next.type("\u0004");
  await next.ended;
  expect((await tasks()).at(-1)).toBe("second");
});
