import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { APPROVAL_STATES, PROFILE_NAMES } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { TASK_STATE_NAMES } from "../../store/queue/task-states.ts";
import { COMMANDS } from "../all.ts";
import { bashScript, completionTable, fishScript, zshScript } from "./completion-scripts.ts";
import { optionsOf } from "../help.ts";

const TABLE = completionTable(COMMANDS);
const has = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

/** What a shell offers for each of these lines; a line is its words, the last of them unfinished. */
async function offered(shell: keyof typeof ASKING, script: string, lines: readonly (readonly string[])[]) {
  const { path } = await scratchFolder();
  writeFileSync(join(path, "script"), script);
  const { program, ask } = ASKING[shell];
  const quote = (word: string): string => `'${word}'`;
  const asked = lines.map((words) => `${ask} ${words.map(quote).join(" ")}; echo '=='`).join("\n");
  const { stdout, stderr } = spawnSync(
    shell,
    shell === "zsh" ? ["-f", "-c", `${program}\n${asked}`] : ["-c", `${program}\n${asked}`],
    {
      cwd: path,
      encoding: "utf8",
    },
  );
  expect(stderr).toBe("");
  return stdout
    .split("==\n")
    .slice(0, -1)
    .map((part) => part.split("\n").filter((word) => word !== ""));
}

/** How each shell is made to show what it would offer. */
const ASKING = {
  bash: {
    program: `source ./script
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _autonous; ((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"; }`,
    ask: "ask",
  },
  // The shell's own functions print what they are given.
  zsh: {
    program: `compdef() { :; }
compadd() { shift; print -l -- "$@"; }
_describe() { print -l -- "\${(@)\${(P@)2}%%:*}"; }
_files() { print -- "files $*"; }
_message() { :; }
source ./script
ask() { words=("$@"); CURRENT=$#; _autonous; }`,
    ask: "ask",
  },
  fish: {
    program: `source ./script
function ask; complete -C (string join ' ' -- $argv) | string replace -r '\\t.*' ''; end`,
    ask: "ask",
  },
} as const;

const SCRIPTS = { bash: bashScript(TABLE), zsh: zshScript(TABLE), fish: fishScript(TABLE) };

// oxfmt-ignore
const CASES: readonly { readonly words: readonly string[]; readonly has: readonly string[] }[] = [
  { words: ["autonous", "policy", ""],                        has: ["explain", "replay", "schema", "test", "trust"] },
  { words: ["autonous", "audit", "show", "--outcome", ""],    has: ["denied", "failed", "ok"] },
  { words: ["autonous", "run", "--profile", ""],              has: [...PROFILE_NAMES] },
  { words: ["autonous", "completion", ""],                    has: ["bash", "fish", "zsh"] },
  { words: ["autonous", "--json", "tasks", "list", "--state", ""], has: [...TASK_STATE_NAMES] },
];

/** The program needs bash only; the other shells are asked where they are installed. */
const INSTALLED = (["bash", "zsh", "fish"] as const).filter((shell) => shell === "bash" || has(shell));

for (const shell of INSTALLED)
  test(`${shell} offers commands, options and choices of the table`, async () => {
    const found = await offered(shell, SCRIPTS[shell], [
      ...CASES.map(({ words }) => words),
      ["autonous", "chat", "--con"],
      ["autonous", "po"],
    ]);
    const words = found.map((each) => each.filter((word) => word !== "--help").toSorted());
    CASES.forEach(({ words: typed, has: wanted }, at) => {
      const flags = words[at]?.filter((word) => !word.startsWith("-"));
      expect({ typed, offered: flags }).toEqual({ typed, offered: [...wanted].toSorted() });
    });
    expect(words.at(-2)).toContain("--continue");
    expect(words.at(-1)).toContain("policy");
  });

test("bash offers all that each command takes, completes a value after =, and nothing after a value that it does not know", async () => {
  const lines = COMMANDS.map(({ name }) => ["autonous", ...name.split(" "), "-"]);
  const found = await offered("bash", SCRIPTS.bash, lines);
  COMMANDS.forEach((command, at) => {
    const flags = optionsOf(command).flatMap(({ name, short = "--help" }) => [name.split(" ")[0] ?? "", short]);
    expect({ command: command.name, offered: new Set(found[at]) }).toEqual({
      command: command.name,
      offered: new Set([...flags, "--help"]),
    });
  });
  const more = [
    ["autonous", "run", "--profile", "=", "g"],
    ["autonous", "run", "--profile", "="],
    ["autonous", "run", "--resume", ""],
    ["autonous", "run", "--root", "s"],
    ["autonous", "nowhere", "r"],
  ];
  expect(await offered("bash", SCRIPTS.bash, more)).toEqual([
    ["guarded"],
    [...PROFILE_NAMES],
    [],
    [],
    ["run", "restore", "redact"],
  ]);
});

test("no word of the table is special to a shell", () => {
  for (const { name, offers } of TABLE.places)
    for (const word of [name, ...offers.map((offer) => offer.word)]) expect(word).toMatch(/^[a-z-]*(?: [a-z-]+)?$/);
  for (const { choices } of TABLE.values) for (const choice of choices) expect(choice).toMatch(/^[a-z_]+$/);
});

test("the literal choices in the command table equal the real ones", () => {
  const choicesOf = (flag: string) =>
    TABLE.values.filter((value) => value.flag === flag && value.choices.length > 0).map(({ choices }) => choices);
  for (const choices of choicesOf("--profile")) expect(choices).toEqual(PROFILE_NAMES);
  expect(choicesOf("--state")).toEqual([Object.keys(APPROVAL_STATES), TASK_STATE_NAMES]);
});
