import { readHours } from "./hours.ts";
import { DEFAULTS, machineLimits, PROFILE_NAMES, SANDBOX_MODES } from "@autonous/runtime";

/** What a setting may be, and how its text is read. */
export type Kind =
  | { readonly type: "text" }
  | { readonly type: "folders" }
  /** From the environment only, and never shown. */
  | { readonly type: "secret" }
  /** Whole numbers above 0 that name somebody. */
  | { readonly type: "ids" }
  /** `http:` or `https:`. */
  | { readonly type: "url" }
  /** A part of every day: `22:00-07:00`, with a time zone behind it where one is meant. */
  | { readonly type: "hours" }
  /** The strictest first. */
  | { readonly type: "choice"; readonly of: readonly string[] }
  /** One of these words, or a whole number. */
  | { readonly type: "choice_or_number"; readonly of: readonly string[]; readonly min: number; readonly max: number }
  | { readonly type: "number"; readonly min: number; readonly max: number };

/**
 * What a project's own file may do to a setting (spec 3, Trust). `less`, `stricter`: make it narrower, and once it is
 * trusted anything. `lower`, `inside`, `adds`: only ever make it narrower. `trusted`: nothing before it is trusted, for neither
 * direction is the narrow one. `never`: it is the person's own to say, trust or not.
 */
// oxfmt-ignore
export const FROM_PROJECT = {
  less:     "a smaller number; any once trusted",
  lower:    "a smaller number",
  stricter: "a stricter one; any once trusted",
  inside:   "folders inside these",
  adds:     "more of them",
  trusted:  "once trusted",
  never:    "no",
} as const;
export type FromProject = keyof typeof FROM_PROJECT;

interface SettingRow {
  /** The environment variable. */
  readonly variable: string;
  /** An older name of the variable. `variable` outweighs it. */
  readonly also?: string;
  readonly kind: Kind;
  /** Undefined: there is none; what needs the setting says so. */
  readonly default: string | number | undefined;
  /** Of one whose default depends on the machine: what it is there. */
  readonly fits?: { readonly to: string; readonly value: () => number };
  readonly project: FromProject;
  readonly meaning: string;
}

const DAY_SECONDS = 86_400;
const MEBIBYTE = 1_048_576;

/** How hard a model works on a reply, the least first. Each provider takes some of them. */
const EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** Whether a model thinks before it answers; `auto` leaves it to the model. */
const THINKING = ["auto", "off", "on"] as const;

/**
 * Every setting, by its name in configuration files. `docs/settings.md` is held to this table by a check.
 */
// oxfmt-ignore
export const SETTINGS = {
  tool_allowed_roots:       { variable: "AUTONOUS_TOOL_ALLOWED_ROOTS",       kind: { type: "folders" },                               default: undefined,                           project: "inside",   meaning: "Folders that tools may touch: absolute, separated by commas. `serve` needs it; the command line takes the current folder" },
  tool_timeout_seconds:     { variable: "AUTONOUS_TOOL_TIMEOUT_SECONDS", also: "TOOL_TIMEOUT_SECONDS", kind: { type: "number", min: 1, max: 3600 },             default: DEFAULTS.timeout_ms / 1000,          project: "less",     meaning: "How long one call may take" },
  tool_max_output_lines:    { variable: "AUTONOUS_TOOL_MAX_OUTPUT_LINES", also: "TOOL_MAX_OUTPUT_LINES", kind: { type: "number", min: 1, max: 1_000_000 },        default: DEFAULTS.lines,                      project: "less",     meaning: "How many lines of output a caller gets to see at once" },
  tool_max_output_bytes:    { variable: "AUTONOUS_TOOL_MAX_OUTPUT_BYTES", also: "TOOL_MAX_OUTPUT_BYTES", kind: { type: "number", min: 256, max: 100_000_000 },    default: DEFAULTS.bytes,                      project: "less",     meaning: "How many bytes of output a caller gets to see at once" },
  bash_timeout_seconds:     { variable: "AUTONOUS_BASH_TIMEOUT_SECONDS",     kind: { type: "number", min: 1, max: 600 },              default: DEFAULTS.bash_timeout_ms / 1000,     project: "less",     meaning: "How long a command may take where the call does not say" },
  script_timeout_seconds:   { variable: "AUTONOUS_SCRIPT_TIMEOUT_SECONDS",   kind: { type: "number", min: 1, max: 600 },              default: DEFAULTS.script_timeout_ms / 1000,   project: "less",     meaning: "How long a script of a skill may take where the call does not say" },
  command_memory_megabytes: { variable: "AUTONOUS_COMMAND_MEMORY_MEGABYTES", kind: { type: "number", min: 16, max: 16_777_216 },      default: undefined,                           project: "lower",    meaning: "Memory limit of a command with all its processes, in MiB; files in its /tmp count", fits: { to: "half of the memory, 256 to 8192", value: () => machineLimits().memory_bytes / MEBIBYTE } },
  command_file_megabytes:   { variable: "AUTONOUS_COMMAND_FILE_MEGABYTES",   kind: { type: "number", min: 1, max: 1_073_741_824 },    default: undefined,                           project: "lower",    meaning: "Largest file that a command can write, in MiB", fits: { to: "a quarter of the disk, 256 to 8192", value: () => machineLimits().file_bytes / MEBIBYTE } },
  command_processes:        { variable: "AUTONOUS_COMMAND_PROCESSES",        kind: { type: "number", min: 8, max: 1_000_000 },        default: undefined,                           project: "lower",    meaning: "Processes that a command can have at once", fits: { to: "128, and 64 per processor, at most 512", value: () => machineLimits().processes } },
  command_open_files:       { variable: "AUTONOUS_COMMAND_OPEN_FILES",       kind: { type: "number", min: 32, max: 1_048_576 },       default: machineLimits().open_files,          project: "lower",    meaning: "Files that each process of a command can have open at once" },
  tool_bash_denylist:       { variable: "AUTONOUS_TOOL_BASH_DENYLIST",       kind: { type: "text" },                                  default: undefined,                           project: "adds",     meaning: "Commands that never run, by their words, separated by commas: `git push, terraform *`" },
  sandbox:                  { variable: "AUTONOUS_SANDBOX",                  kind: { type: "choice", of: SANDBOX_MODES },             default: "auto",                              project: "stricter", meaning: "What commands run in: `auto` (a sandbox where the machine can), `required` (not without one), `off`" },
  profile:                  { variable: "AUTONOUS_PROFILE",                  kind: { type: "choice", of: PROFILE_NAMES },             default: "guarded",                           project: "stricter", meaning: "What is allowed where no rule says otherwise" },
  state_dir:                { variable: "AUTONOUS_STATE_DIR",                kind: { type: "text" },                                  default: undefined,                           project: "never",    meaning: "Where the record is kept, out of every tool's reach; relative to the working folder. Where it is not set: `$XDG_STATE_HOME/autonous/<name>-<key>`, one folder per working folder (`autonous doctor` shows it)" },
  model:                    { variable: "AUTONOUS_MODEL",                    kind: { type: "text" },                                  default: "direct",                            project: "trusted",  meaning: "Who answers: `direct` (no model: `/ls src` is a call), `anthropic:<model>`, `openai:<model>`, `openai-chat:<model>`, `google:<model>`, `compatible:<model>@<url>` (Ollama, vLLM, LM Studio, OpenRouter), `compatible-plain:<model>@<url>` (a server without function calling) or `script:<file>` (replies from a file). Several, separated by commas: the next one is asked where one is down or out of credit. Keys come from the environment only" },
  max_turns:                { variable: "AUTONOUS_MAX_TURNS",                kind: { type: "number", min: 1, max: 100_000 },          default: 50,                                  project: "less",     meaning: "How many rounds of model and calls a task may take" },
  max_wall_time_seconds:    { variable: "AUTONOUS_MAX_WALL_TIME_SECONDS",    kind: { type: "number", min: 1, max: 30 * DAY_SECONDS }, default: 3600,                                project: "less",     meaning: "How long a task may be worked on; waiting for a person does not count" },
  max_tokens:               { variable: "AUTONOUS_MAX_TOKENS",               kind: { type: "number", min: 1, max: 1_000_000_000 },    default: 2_000_000,                           project: "less",     meaning: "How many tokens, in and out, a task may take of its model, failed attempts included. Input that the provider read from its cache counts by its share of the price (a tenth where no price is known)" },
  max_cost_cents:           { variable: "AUTONOUS_MAX_COST_CENTS",           kind: { type: "number", min: 1, max: 100_000_000 },      default: undefined,                           project: "less",     meaning: "What a task may cost, failed attempts included, in hundredths of the currency of `prices`. A model without a price is not asked then" },
  max_model_calls:          { variable: "AUTONOUS_MAX_MODEL_CALLS",          kind: { type: "number", min: 1, max: 1000 },             default: 4,                                   project: "less",     meaning: "How many requests to its model a process has under way at once" },
  context_tokens:           { variable: "AUTONOUS_CONTEXT_TOKENS",           kind: { type: "number", min: 4000, max: 100_000_000 },   default: undefined,                           project: "less",     meaning: "How many tokens the model takes in one request, where the provider does not say or says too much" },
  max_output_tokens:        { variable: "AUTONOUS_MAX_OUTPUT_TOKENS",        kind: { type: "number", min: 16, max: 10_000_000 },      default: undefined,                           project: "less",     meaning: "Longest reply of the model, in tokens, its thinking included. Without it: the largest that the model is known for, or the provider's own default (see `models` in configuration.md)" },
  thinking:                 { variable: "AUTONOUS_THINKING",                 kind: { type: "choice_or_number", of: THINKING, min: 128, max: 10_000_000 }, default: undefined,       project: "trusted",  meaning: "Whether the model thinks before it answers: `auto` (its own default), `off`, `on`, or a budget in tokens, where the provider takes it (see `models` in configuration.md)" },
  effort:                   { variable: "AUTONOUS_EFFORT",                   kind: { type: "choice", of: EFFORTS },                   default: undefined,                           project: "trusted",  meaning: "How hard the model works on a reply: `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, where the provider takes it (see `models` in configuration.md)" },
  model_first_byte_seconds: { variable: "AUTONOUS_MODEL_FIRST_BYTE_SECONDS", kind: { type: "number", min: 1, max: 3600 },             default: 240,                                 project: "less",     meaning: "How long to wait for the first byte of a model's reply, in seconds. A local server may have to load its model first" },
  model_idle_seconds:       { variable: "AUTONOUS_MODEL_IDLE_SECONDS",       kind: { type: "number", min: 1, max: 3600 },             default: 120,                                 project: "less",     meaning: "How long to wait for the next byte of a model's reply, in seconds. Keep-alive comments and pings count" },
  approval_timeout_seconds: { variable: "AUTONOUS_APPROVAL_TIMEOUT_SECONDS", kind: { type: "number", min: 1, max: 30 * DAY_SECONDS }, default: DEFAULTS.approval_timeout_ms / 1000, project: "less",     meaning: "How long a request for approval is good" },
  task_max_attempts:        { variable: "TASK_MAX_ATTEMPTS",                 kind: { type: "number", min: 1, max: 100 },              default: 3,                                   project: "less",     meaning: "How often a task is tried before it is given up" },
  task_retry_base_ms:       { variable: "TASK_RETRY_BASE_MS",                kind: { type: "number", min: 1, max: 3_600_000 },        default: 2000,                                project: "trusted",  meaning: "How long the first retry waits; each further one waits twice as long" },
  worker_concurrency:       { variable: "AUTONOUS_WORKER_CONCURRENCY",       kind: { type: "number", min: 1, max: 256 },              default: 1,                                   project: "less",     meaning: "How many chats are worked on side by side; the tasks of one chat stay in order" },
  drain_seconds:            { variable: "AUTONOUS_DRAIN_SECONDS",            kind: { type: "number", min: 0, max: 3600 },             default: 10,                                  project: "never",    meaning: "How long a service that is told to stop lets the tasks in hand go on; what is not done by then is gone on with at the next start" },
  keep_days:                { variable: "AUTONOUS_KEEP_DAYS",                kind: { type: "number", min: 0, max: 36_500 },           default: 30,                                  project: "never",    meaning: "How many days the record of a run, and what it put aside, is kept after its end; 0: for ever. What it leaves: retention.md" },
  keep_undo_days:           { variable: "AUTONOUS_KEEP_UNDO_DAYS",           kind: { type: "number", min: 0, max: 36_500 },           default: 14,                                  project: "never",    meaning: "How many days a change can be taken back; 0: for ever" },
  keep_megabytes:           { variable: "AUTONOUS_KEEP_MEGABYTES",           kind: { type: "number", min: 0, max: 1_000_000_000 },    default: 4096,                                project: "never",    meaning: "How much the state folder may take; beyond it the oldest goes first, but nothing of the last day; 0: any amount" },
  http_port:                { variable: "AUTONOUS_HTTP_PORT",                kind: { type: "number", min: 0, max: 65_535 },           default: 8787,                                project: "never",    meaning: "The port of the service on 127.0.0.1; 0 takes a free one" },
  telegram_token:           { variable: "AUTONOUS_TELEGRAM_TOKEN",           kind: { type: "secret" },                                default: undefined,                           project: "never",    meaning: "The token of a Telegram bot, from @BotFather. With it `serve` speaks by Telegram too. From the environment only" },
  telegram_allowed_users:   { variable: "AUTONOUS_TELEGRAM_ALLOWED_USERS",   kind: { type: "ids" },                                   default: undefined,                           project: "never",    meaning: "Telegram user ids, separated by commas, that may always use the bot and let others in. Empty or not set: only people who were let in with `autonous telegram pair`" },
  telegram_groups:          { variable: "AUTONOUS_TELEGRAM_GROUPS",          kind: { type: "choice", of: ["addressed", "all"] },      default: "addressed",                         project: "never",    meaning: "Messages of allowed users that the bot reads in groups: `addressed` (mentions, replies to the bot, its own commands) or `all`" },
  telegram_api_root:        { variable: "AUTONOUS_TELEGRAM_API_ROOT",        kind: { type: "url" },                                   default: "https://api.telegram.org",          project: "never",    meaning: "Where the Bot API is: Telegram's own, a Bot API server of one's own, or an emulator" },
  telegram_quiet_hours:     { variable: "AUTONOUS_TELEGRAM_QUIET_HOURS",     kind: { type: "hours" },                                 default: undefined,                           project: "never",    meaning: "Hours in which Telegram messages are sent without a sound, questions too; nothing is delayed: `22:00-07:00`, in the time zone of the machine, or `22:00-07:00 Europe/Berlin`" },
  tg_pending_window_seconds: { variable: "TG_PENDING_WINDOW_SECONDS",        kind: { type: "number", min: 1, max: DAY_SECONDS },      default: 600,                                 project: "never",    meaning: "How old a Telegram message may be when the service gets to see it" },
  tg_pending_max_messages:  { variable: "TG_PENDING_MAX_MESSAGES",           kind: { type: "number", min: 1, max: 1000 },             default: 50,                                  project: "never",    meaning: "How many Telegram messages that came while the service was away are taken, the newest" },
  telegram_max_files:       { variable: "AUTONOUS_TELEGRAM_MAX_FILES",       kind: { type: "number", min: 0, max: 100 },              default: 10,                                  project: "never",    meaning: "Files that are taken of one Telegram message, at most; 0: none" },
  telegram_max_file_megabytes: { variable: "AUTONOUS_TELEGRAM_MAX_FILE_MEGABYTES", kind: { type: "number", min: 1, max: 50 },       default: 20,                                  project: "never",    meaning: "Largest file that is taken of a Telegram message. Telegram's own servers give bots at most 20 MB" },
  inbox_folder:             { variable: "AUTONOUS_INBOX_FOLDER",             kind: { type: "text" },                                  default: "inbox",                             project: "never",    meaning: "The folder that files go into which people send, relative to the working folder" },
} as const satisfies Record<string, SettingRow>;

export type SettingName = keyof typeof SETTINGS;

type ValueOf<K extends Kind> = K extends { type: "number" }
  ? number
  : K extends { type: "folders" }
    ? readonly string[]
    : K extends { type: "ids" }
      ? readonly number[]
      : K extends { type: "choice"; of: readonly (infer C)[] }
        ? C
        : K extends { type: "choice_or_number"; of: readonly (infer C)[] }
          ? C | number
          : string;
type OrUndefined<D> = D extends undefined ? undefined : never;

/** What the environment says of a setting, and by which variable. */
export function givenBy(
  name: SettingName,
  environment: NodeJS.ProcessEnv,
): { readonly variable: string; readonly text: string } | undefined {
  const { variable, also }: SettingRow = SETTINGS[name];
  for (const each of [variable, also ?? variable]) {
    const text = environment[each];
    if (text !== undefined) return { variable: each, text };
  }
  return undefined;
}

/** What holds where nobody says otherwise; undefined: nothing does. */
export function defaultOf(name: SettingName): SettingValue {
  const row: SettingRow = SETTINGS[name];
  return row.default ?? row.fits?.value();
}

/** The values in force. */
export type Settings = {
  readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]["kind"]> | OrUndefined<(typeof SETTINGS)[N]["default"]>;
};

export type SettingValue = string | number | readonly string[] | readonly number[] | undefined;

/** A setting's text as its value; or what is wrong with it. */
export function readText(
  name: SettingName,
  text: string,
): { readonly value: SettingValue } | { readonly problem: string } {
  const kind: Kind = SETTINGS[name].kind;
  if (kind.type === "folders") return { value: text.split(",").map((part) => part.trim()) };
  if (kind.type === "secret") return readSecret(text);
  if (kind.type === "ids") return readIds(name, text);
  if (kind.type === "choice_or_number") return checkValue(name, /^\d+$/.test(text.trim()) ? Number(text) : text.trim());
  if (kind.type !== "number") return checkValue(name, text);
  return /^-?\d+(\.\d+)?$/.test(text.trim())
    ? checkValue(name, Number(text))
    : { problem: `has to be a whole number, not "${text}"` };
}

/** What is wrong with it is said without it. */
function readSecret(text: string): { readonly value: SettingValue } | { readonly problem: string } {
  const secret = text.trim();
  if (secret === "") return { problem: "is empty; leave it out, or set it" };
  return /^[\x21-\x7e]+$/.test(secret)
    ? { value: secret }
    : { problem: "holds a space, or what is no plain character" };
}

function readIds(name: SettingName, text: string): ReturnType<typeof checkValue> {
  const parts = text.trim() === "" ? [] : text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,16}$/.test(part));
  if (wrong === undefined) return checkValue(name, parts.map(Number));
  return { problem: `has to be user ids separated by commas; not valid: ${JSON.stringify(wrong)}` };
}

/** Variables that hold a secret of the service itself: its worker, and what that starts, has no use for them. */
export function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const secrets = Object.values(SETTINGS).filter(({ kind }) => kind.type === "secret");
  const names = new Set<string>(secrets.map(({ variable }) => variable));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name)));
}

/** A setting's value for people. */
export function showSetting(name: SettingName, value: SettingValue): string {
  if (value === undefined) return "none";
  return SETTINGS[name].kind.type === "secret" ? "set, not shown" : String(value);
}

/** A value from a configuration file, checked. */
export function checkValue(
  name: SettingName,
  value: unknown,
): { readonly value: SettingValue } | { readonly problem: string } {
  const kind: Kind = SETTINGS[name].kind;
  switch (kind.type) {
    case "text":
      return typeof value === "string" && value.trim() !== ""
        ? { value }
        : { problem: "has to be text that is not empty" };
    case "choice":
      return typeof value === "string" && kind.of.includes(value)
        ? { value }
        : { problem: `has to be one of ${kind.of.join(", ")}, not ${JSON.stringify(value)}` };
    case "choice_or_number":
      return (typeof value === "string" && kind.of.includes(value)) || isWithin(value, kind)
        ? { value }
        : {
            problem: `has to be one of ${kind.of.join(", ")}, or a whole number from ${kind.min} to ${kind.max}, not ${JSON.stringify(value)}`,
          };
    case "folders":
      return Array.isArray(value) && value.every((each) => typeof each === "string")
        ? { value }
        : { problem: "has to be a list of absolute paths" };
    case "secret":
      return { problem: `is a secret: it comes from the environment only, as ${SETTINGS[name].variable}` };
    case "ids":
      return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each > 0)
        ? { value }
        : { problem: "has to be a list of whole numbers above 0" };
    case "url":
      return typeof value === "string" && /^https?:\/\/[^/\s]+/.test(value) && URL.canParse(value)
        ? { value }
        : { problem: `has to be an address that begins with http:// or https://, not ${JSON.stringify(value)}` };
    case "hours":
      return typeof value === "string" && readHours(value) !== undefined
        ? { value }
        : {
            problem: `has to be hours such as "22:00-07:00" or "22:00-07:00 Europe/Berlin", not ${JSON.stringify(value)}`,
          };
    case "number":
      return isWithin(value, kind)
        ? { value }
        : { problem: `has to be a whole number from ${kind.min} to ${kind.max}, not ${JSON.stringify(value)}` };
  }
}

function isWithin(value: unknown, { min, max }: { readonly min: number; readonly max: number }): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
}
