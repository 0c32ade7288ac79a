import type { Command, Parameter } from "./command.ts";
import { POLICY_COMMANDS } from "./policy-commands.ts";
import { RECORD_COMMANDS } from "./record-commands.ts";
import { EXAMPLE_MODELS } from "../model/example-models.ts";

/** Of commands that ask a model. */
const AGENT_OPTIONS: readonly Parameter[] = [
  {
    name: "--model <name>",
    meaning: `who answers, as AUTONOUS_MODEL names it: anthropic:${EXAMPLE_MODELS.anthropic}, compatible:<model>@<url>, …`,
  },
  { name: "--max-turns <n>", meaning: "rounds of model and calls at most, for each task" },
  { name: "--max-tokens <n>", meaning: "tokens in and out at most, for each task" },
  { name: "--max-cost <amount>", meaning: "what a task may cost, such as 2.50, in the currency of the price table" },
  { name: "--max-wall-time <time>", meaning: "how long a task may be worked on, such as 90s, 15m or 2h" },
  { name: "--verbose", meaning: "show all output of commands, and whole changes" },
];

/** Every command. `docs/commands.md` is held to this list by a check. */
export const COMMANDS: readonly Command[] = [
  {
    name: "run",
    summary: "Do one task in the current folder",
    args: [
      {
        name: "[task...]",
        meaning: "what to do; with the model `direct`, a call such as `/ls .`; or - to read it from stdin",
      },
    ],
    options: [...AGENT_OPTIONS, { name: "--resume <run>", meaning: "go on with a run that was stopped or waits" }],
    attended: true,
    workspace: true,
    example: 'git diff | autonous run "review this"',
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    name: "chat",
    summary: "Start an interactive chat",
    options: [
      ...AGENT_OPTIONS,
      { name: "--continue", short: "-c", meaning: "resume the newest chat of this folder" },
      { name: "--resume <run>", meaning: "resume an earlier chat or run" },
    ],
    attended: true,
    workspace: true,
    example: "autonous chat",
    load: async () => (await import("./commands/chat.ts")).chat,
  },
  {
    name: "sessions",
    summary: "List chats and runs of this folder that can be resumed",
    options: [{ name: "--limit <n>", meaning: "at most this many (default 20)" }],
    workspace: true,
    example: "autonous sessions",
    load: async () => (await import("./commands/sessions.ts")).sessions,
  },
  {
    name: "call",
    summary: "Make one governed call, without a model",
    args: [
      { name: "<tool>", meaning: 'the tool\'s name; or - to read calls from stdin, one {"tool":…,"args":…} a line' },
      { name: "[args]", meaning: "its arguments as JSON; or - to read them from stdin" },
    ],
    options: [{ name: "--approve <digest>", meaning: "approve exactly the call that was refused with this digest" }],
    attended: true,
    workspace: true,
    example: `autonous call ls '{"path":"src"}'`,
    load: async () => (await import("./commands/call.ts")).call,
  },
  {
    name: "tools",
    summary: "Show what is offered here, with risk, permissions and schema",
    args: [{ name: "[name]", meaning: "one tool, in full" }],
    workspace: true,
    example: "autonous tools ls",
    load: async () => (await import("./commands/tools.ts")).tools,
  },
  ...POLICY_COMMANDS,
  {
    name: "undo",
    summary: "Take back one change of files, or all changes of a run",
    args: [{ name: "<undo_id or run>", meaning: "the undo_id that a result named, or the id of a run" }],
    options: [
      { name: "--force", meaning: "also where a file has changed since" },
      { name: "--approve <digest>", meaning: "approve exactly the call that was refused with this digest" },
    ],
    attended: true,
    workspace: true,
    example: "autonous undo undo_01k…",
    load: async () => (await import("./commands/undo.ts")).undo,
  },
  {
    name: "memory list",
    summary: "Show what was kept for later runs, newest first",
    options: [{ name: "--limit <n>", meaning: "at most so many (default 20)" }],
    workspace: true,
    example: "autonous memory list",
    load: async () => (await import("./commands/memory.ts")).list,
  },
  {
    name: "memory search",
    summary: "Show what was kept that has all of these words, or their beginnings",
    args: [{ name: "<word...>", meaning: "what to look for" }],
    options: [{ name: "--limit <n>", meaning: "at most so many (default 20)" }],
    workspace: true,
    example: "autonous memory search deploy friday",
    load: async () => (await import("./commands/memory.ts")).search,
  },
  {
    name: "memory show",
    summary: "Show one entry whole",
    args: [{ name: "<entry>", meaning: "its id" }],
    workspace: true,
    example: "autonous memory show mem_01k…",
    load: async () => (await import("./commands/memory.ts")).show,
  },
  {
    name: "memory delete",
    summary: "Forget one entry",
    args: [{ name: "<entry>", meaning: "its id" }],
    workspace: true,
    example: "autonous memory delete mem_01k…",
    load: async () => (await import("./commands/memory.ts")).remove,
  },
  {
    name: "serve",
    summary: "Run the service: supervisor, worker and HTTP on 127.0.0.1",
    options: [{ name: "--check", meaning: "check everything that a start needs, then stop" }],
    workspace: true,
    example: "AUTONOUS_TOOL_ALLOWED_ROOTS=/srv/work autonous serve",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  {
    name: "worker",
    summary: "Run tasks from the queue; started by serve",
    workspace: true,
    example: "autonous worker",
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  ...RECORD_COMMANDS,
  {
    name: "skills",
    summary: "Show the skills of this workspace and your own",
    workspace: true,
    example: "autonous skills",
    load: async () => (await import("./commands/skills.ts")).skills,
  },
  {
    name: "redact",
    summary: "Take secrets out of text: stdin to stdout",
    args: [{ name: "[-]", meaning: 'JSON Lines instead: {"text":…} in, {"text":…,"redacted":…} out' }],
    example: "autonous redact < build.log",
    load: async () => (await import("./commands/redact.ts")).redactInput,
  },
  {
    name: "state show",
    summary: "Print the state folder of this workspace",
    workspace: true,
    example: "ls $(autonous state show)/runs",
    load: async () => (await import("./commands/state.ts")).showState,
  },
  {
    name: "state adopt",
    summary: "Mark a state folder as your own, or move an old one",
    args: [{ name: "[folder]", meaning: "old state to move to where the state of this workspace is now" }],
    options: [{ name: "--yes", meaning: "without a question: you know where the folder comes from" }],
    workspace: true,
    example: "autonous state adopt --state-dir .state",
    load: async () => (await import("./commands/state.ts")).adoptState,
  },
  {
    name: "doctor",
    summary: "Check this machine, the configuration, the store and the sandbox",
    options: [{ name: "--fix", meaning: "install programs that are missing, with the system's package manager" }],
    workspace: true,
    example: "autonous doctor",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
];
