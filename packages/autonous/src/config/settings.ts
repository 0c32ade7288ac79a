import { readHours } from "./hours.ts";
import { DEFAULTS, machineLimits, PROFILE_NAMES, SANDBOX_MODES } from "@autonous/runtime/internal";

/** The types of settings, and how their text is parsed. */
export type Kind =
  | { readonly type: "text" }
  | { readonly type: "folders" }
  /** From the environment only, and never shown. */
  | { readonly type: "secret" }
  /** User ids: whole numbers above 0. */
  | { readonly type: "ids" }
  /** `http:` or `https:`. */
  | { readonly type: "url" }
  /** Daily hours: `22:00-07:00`, with an optional time zone after them. */
  | { readonly type: "hours" }
  /** Ordered from the strictest. */
  | { readonly type: "choice"; readonly of: readonly string[] }
  /** One of these words, or a whole number. */
  | { readonly type: "choice_or_number"; readonly of: readonly string[]; readonly min: number; readonly max: number }
  | { readonly type: "number"; readonly min: number; readonly max: number };

/**
 * How a project's file may change a setting (spec 3, Trust). `less`, `stricter`: narrow it; any value once the file is
 * trusted. `lower`, `inside`, `adds`: narrow it, even if trusted. `trusted`: not at all until trusted, because neither
 * direction is narrower. `never`: only the user can set it, trusted or not.
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
  /** An older name of the variable. `variable` takes precedence. */
  readonly also?: string;
  readonly kind: Kind;
  /** Undefined: no default; whatever needs the setting reports that. */
  readonly default: string | number | undefined;
  /** For a default that depends on the machine: how it is computed. */
  readonly fits?: { readonly to: string; readonly value: () => number };
  readonly project: FromProject;
  readonly meaning: string;
}

const DAY_SECONDS = 86_400;
const MEBIBYTE = 1_048_576;

/** How hard a model works on a reply, in ascending order. Each provider supports some of them. */
const EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** Whether a model thinks before it answers; `auto` leaves it to the model. */
const THINKING = ["auto", "off", "on"] as const;

/**
 * Every setting, by its name in configuration files. A check keeps `docs/settings.md` equal to this table.
 */
// oxfmt-ignore
export const SETTINGS = {
  tool_allowed_roots:       { variable: "AUTONOUS_TOOL_ALLOWED_ROOTS",       kind: { type: "folders" },                               default: undefined,                           project: "inside",   meaning: "Folders that tools may touch: absolute, separated by commas. `serve` needs it; the command line takes the current folder" },
  tool_timeout_seconds:     { variable: "AUTONOUS_TOOL_TIMEOUT_SECONDS", also: "TOOL_TIMEOUT_SECONDS", kind: { type: "number", min: 1, max: 3600 },             default: DEFAULTS.timeout_ms / 1000,          project: "less",     meaning: "Timeout of a tool call, in seconds" },
  tool_max_output_lines:    { variable: "AUTONOUS_TOOL_MAX_OUTPUT_LINES", also: "TOOL_MAX_OUTPUT_LINES", kind: { type: "number", min: 1, max: 1_000_000 },        default: DEFAULTS.lines,                      project: "less",     meaning: "Lines of output per result, at most" },
  tool_max_output_bytes:    { variable: "AUTONOUS_TOOL_MAX_OUTPUT_BYTES", also: "TOOL_MAX_OUTPUT_BYTES", kind: { type: "number", min: 256, max: 100_000_000 },    default: DEFAULTS.bytes,                      project: "less",     meaning: "Bytes of output per result, at most" },
  bash_timeout_seconds:     { variable: "AUTONOUS_BASH_TIMEOUT_SECONDS",     kind: { type: "number", min: 1, max: 600 },              default: DEFAULTS.bash_timeout_ms / 1000,     project: "less",     meaning: "Default timeout of a command, in seconds" },
  script_timeout_seconds:   { variable: "AUTONOUS_SCRIPT_TIMEOUT_SECONDS",   kind: { type: "number", min: 1, max: 600 },              default: DEFAULTS.script_timeout_ms / 1000,   project: "less",     meaning: "Default timeout of a skill script, in seconds" },
  command_memory_megabytes: { variable: "AUTONOUS_COMMAND_MEMORY_MEGABYTES", kind: { type: "number", min: 16, max: 16_777_216 },      default: undefined,                           project: "lower",    meaning: "Memory limit of a command with all its processes, in MiB; files in its /tmp count", fits: { to: "half of the memory, 256 to 8192", value: () => machineLimits().memory_bytes / MEBIBYTE } },
  command_file_megabytes:   { variable: "AUTONOUS_COMMAND_FILE_MEGABYTES",   kind: { type: "number", min: 1, max: 1_073_741_824 },    default: undefined,                           project: "lower",    meaning: "Largest file that a command can write, in MiB", fits: { to: "a quarter of the disk, 256 to 8192", value: () => machineLimits().file_bytes / MEBIBYTE } },
  command_processes:        { variable: "AUTONOUS_COMMAND_PROCESSES",        kind: { type: "number", min: 8, max: 1_000_000 },        default: undefined,                           project: "lower",    meaning: "Processes that a command can have at once", fits: { to: "128, and 64 per processor, at most 512", value: () => machineLimits().processes } },
  command_open_files:       { variable: "AUTONOUS_COMMAND_OPEN_FILES",       kind: { type: "number", min: 32, max: 1_048_576 },       default: machineLimits().open_files,          project: "lower",    meaning: "Files that each process of a command can have open at once" },
  tool_bash_denylist:       { variable: "AUTONOUS_TOOL_BASH_DENYLIST",       kind: { type: "text" },                                  default: undefined,                           project: "adds",     meaning: "Commands that never run, comma-separated: `git push, terraform *`" },
  sandbox:                  { variable: "AUTONOUS_SANDBOX",                  kind: { type: "choice", of: SANDBOX_MODES },             default: "auto",                              project: "stricter", meaning: "What commands run in: `auto` (a sandbox where the machine can), `required` (not without one), `off`" },
  profile:                  { variable: "AUTONOUS_PROFILE",                  kind: { type: "choice", of: PROFILE_NAMES },             default: "guarded",                           project: "stricter", meaning: "What is allowed unless a rule says otherwise" },
  state_dir:                { variable: "AUTONOUS_STATE_DIR",                kind: { type: "text" },                                  default: undefined,                           project: "never",    meaning: "The state folder, off limits to all tools; relative to the working folder. Default: `$XDG_STATE_HOME/autonous/<name>-<key>`, one folder per working folder (`autonous doctor` shows it)" },
  model:                    { variable: "AUTONOUS_MODEL",                    kind: { type: "text" },                                  default: "direct",                            project: "trusted",  meaning: "Who answers: `direct` (no model: `/ls src` is a call), `anthropic:<model>`, `openai:<model>`, `openai-chat:<model>`, `google:<model>`, `compatible:<model>@<url>` (Ollama, vLLM, LM Studio, OpenRouter), `compatible-plain:<model>@<url>` (a server without function calling) or `script:<file>` (replies from a file). Several, separated by commas: the next is used when one is down or out of credit. Keys come from the environment only" },
  max_turns:                { variable: "AUTONOUS_MAX_TURNS",                kind: { type: "number", min: 1, max: 100_000 },          default: 50,                                  project: "less",     meaning: "Turns per task, at most" },
  max_wall_time_seconds:    { variable: "AUTONOUS_MAX_WALL_TIME_SECONDS",    kind: { type: "number", min: 1, max: 30 * DAY_SECONDS }, default: 3600,                                project: "less",     meaning: "Working time per task in seconds, at most; waiting for approval does not count" },
  max_tokens:               { variable: "AUTONOUS_MAX_TOKENS",               kind: { type: "number", min: 1, max: 1_000_000_000 },    default: 2_000_000,                           project: "less",     meaning: "Input and output tokens per task, at most, failed attempts included. Cached input counts by its share of the price (a tenth if no price is known)" },
  max_cost_cents:           { variable: "AUTONOUS_MAX_COST_CENTS",           kind: { type: "number", min: 1, max: 100_000_000 },      default: undefined,                           project: "less",     meaning: "Cost per task, at most, failed attempts included, in hundredths of the currency of `prices`. With it, models without a price are not used" },
  max_model_calls:          { variable: "AUTONOUS_MAX_MODEL_CALLS",          kind: { type: "number", min: 1, max: 1000 },             default: 4,                                   project: "less",     meaning: "Parallel model requests per process, at most" },
  context_tokens:           { variable: "AUTONOUS_CONTEXT_TOKENS",           kind: { type: "number", min: 4000, max: 100_000_000 },   default: undefined,                           project: "less",     meaning: "Context window of the model in tokens, if the provider reports none or too large a one" },
  max_output_tokens:        { variable: "AUTONOUS_MAX_OUTPUT_TOKENS",        kind: { type: "number", min: 16, max: 10_000_000 },      default: undefined,                           project: "less",     meaning: "Longest reply of the model, in tokens, its thinking included. Without it: the largest that the model is known for, or the provider's own default (see `models` in configuration.md)" },
  thinking:                 { variable: "AUTONOUS_THINKING",                 kind: { type: "choice_or_number", of: THINKING, min: 128, max: 10_000_000 }, default: undefined,       project: "trusted",  meaning: "Whether the model thinks before it answers: `auto` (its own default), `off`, `on`, or a budget in tokens, where the provider takes it (see `models` in configuration.md)" },
  effort:                   { variable: "AUTONOUS_EFFORT",                   kind: { type: "choice", of: EFFORTS },                   default: undefined,                           project: "trusted",  meaning: "How hard the model works on a reply: `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, where the provider takes it (see `models` in configuration.md)" },
  model_first_byte_seconds: { variable: "AUTONOUS_MODEL_FIRST_BYTE_SECONDS", kind: { type: "number", min: 1, max: 3600 },             default: 240,                                 project: "less",     meaning: "How long to wait for the first byte of a model's reply, in seconds. A local server may have to load its model first" },
  model_idle_seconds:       { variable: "AUTONOUS_MODEL_IDLE_SECONDS",       kind: { type: "number", min: 1, max: 3600 },             default: 120,                                 project: "less",     meaning: "How long to wait for the next byte of a model's reply, in seconds. Keep-alive comments and pings count" },
  approval_timeout_seconds: { variable: "AUTONOUS_APPROVAL_TIMEOUT_SECONDS", kind: { type: "number", min: 1, max: 30 * DAY_SECONDS }, default: DEFAULTS.approval_timeout_ms / 1000, project: "less",     meaning: "Time until an approval request expires, in seconds" },
  task_max_attempts:        { variable: "TASK_MAX_ATTEMPTS",                 kind: { type: "number", min: 1, max: 100 },              default: 3,                                   project: "less",     meaning: "Attempts per task before it is dead-lettered" },
  task_retry_base_ms:       { variable: "TASK_RETRY_BASE_MS",                kind: { type: "number", min: 1, max: 3_600_000 },        default: 2000,                                project: "trusted",  meaning: "Delay of the first retry in milliseconds; doubles with each further retry" },
  worker_concurrency:       { variable: "AUTONOUS_WORKER_CONCURRENCY",       kind: { type: "number", min: 1, max: 256 },              default: 1,                                   project: "less",     meaning: "Chats processed in parallel; the tasks of one chat stay in order" },
  drain_seconds:            { variable: "AUTONOUS_DRAIN_SECONDS",            kind: { type: "number", min: 0, max: 3600 },             default: 10,                                  project: "never",    meaning: "Shutdown grace period in seconds; unfinished tasks resume at the next start" },
  keep_days:                { variable: "AUTONOUS_KEEP_DAYS",                kind: { type: "number", min: 0, max: 36_500 },           default: 30,                                  project: "never",    meaning: "Days to keep the record and stored output of a finished run; 0: forever. What remains: retention.md" },
  keep_undo_days:           { variable: "AUTONOUS_KEEP_UNDO_DAYS",           kind: { type: "number", min: 0, max: 36_500 },           default: 14,                                  project: "never",    meaning: "Days in which a change can be undone; 0: forever" },
  keep_megabytes:           { variable: "AUTONOUS_KEEP_MEGABYTES",           kind: { type: "number", min: 0, max: 1_000_000_000 },    default: 4096,                                project: "never",    meaning: "Size limit of the state folder in MB; the oldest runs are deleted first, but none of the last day; 0: no limit" },
  http_port:                { variable: "AUTONOUS_HTTP_PORT",                kind: { type: "number", min: 0, max: 65_535 },           default: 8787,                                project: "never",    meaning: "The port of the service on 127.0.0.1; 0 takes a free one" },
  telegram_token:           { variable: "AUTONOUS_TELEGRAM_TOKEN",           kind: { type: "secret" },                                default: undefined,                           project: "never",    meaning: "The token of a Telegram bot, from @BotFather. Enables Telegram in `serve`. From the environment only" },
  telegram_allowed_users:   { variable: "AUTONOUS_TELEGRAM_ALLOWED_USERS",   kind: { type: "ids" },                                   default: undefined,                           project: "never",    meaning: "Telegram user ids, separated by commas, that may always use the bot and let others in. Empty or not set: only people who were let in with `autonous telegram pair`" },
  telegram_groups:          { variable: "AUTONOUS_TELEGRAM_GROUPS",          kind: { type: "choice", of: ["addressed", "all"] },      default: "addressed",                         project: "never",    meaning: "Messages of allowed users that the bot reads in groups: `addressed` (mentions, replies to the bot, its own commands) or `all`" },
  telegram_api_root:        { variable: "AUTONOUS_TELEGRAM_API_ROOT",        kind: { type: "url" },                                   default: "https://api.telegram.org",          project: "never",    meaning: "URL of the Bot API: Telegram's, your own Bot API server, or an emulator" },
  telegram_quiet_hours:     { variable: "AUTONOUS_TELEGRAM_QUIET_HOURS",     kind: { type: "hours" },                                 default: undefined,                           project: "never",    meaning: "Hours in which Telegram messages are sent without a sound, questions too; nothing is delayed: `22:00-07:00`, in the time zone of the machine, or `22:00-07:00 Europe/Berlin`" },
  tg_pending_window_seconds: { variable: "TG_PENDING_WINDOW_SECONDS",        kind: { type: "number", min: 1, max: DAY_SECONDS },      default: 600,                                 project: "never",    meaning: "Maximum age of a Telegram message in seconds when the service receives it" },
  tg_pending_max_messages:  { variable: "TG_PENDING_MAX_MESSAGES",           kind: { type: "number", min: 1, max: 1000 },             default: 50,                                  project: "never",    meaning: "Telegram messages sent during downtime that are processed, at most; the newest ones" },
  telegram_max_files:       { variable: "AUTONOUS_TELEGRAM_MAX_FILES",       kind: { type: "number", min: 0, max: 100 },              default: 10,                                  project: "never",    meaning: "Files accepted per Telegram message, at most; 0: none" },
  telegram_max_file_megabytes: { variable: "AUTONOUS_TELEGRAM_MAX_FILE_MEGABYTES", kind: { type: "number", min: 1, max: 50 },       default: 20,                                  project: "never",    meaning: "Largest file accepted from Telegram, in MB. Telegram's own servers give bots at most 20 MB" },
  inbox_folder:             { variable: "AUTONOUS_INBOX_FOLDER",             kind: { type: "text" },                                  default: "inbox",                             project: "never",    meaning: "Folder for files that users send, relative to the working folder" },
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

/** The value of a setting in the environment, and its variable. */
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

/** The default of a setting; undefined: it has none. */
export function defaultOf(name: SettingName): SettingValue {
  const row: SettingRow = SETTINGS[name];
  return row.default ?? row.fits?.value();
}

/** The values in force. */
export type Settings = {
  readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]["kind"]> | OrUndefined<(typeof SETTINGS)[N]["default"]>;
};

export type SettingValue = string | number | readonly string[] | readonly number[] | undefined;

/** Parses a setting's text into its value, or returns the problem. */
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

/** Problems never quote the secret. */
function readSecret(text: string): { readonly value: SettingValue } | { readonly problem: string } {
  const secret = text.trim();
  if (secret === "") return { problem: "is empty; leave it out, or set it" };
  return /^[\x21-\x7e]+$/.test(secret)
    ? { value: secret }
    : { problem: "contains a character that is not printable ASCII, or a space" };
}

function readIds(name: SettingName, text: string): ReturnType<typeof checkValue> {
  const parts = text.trim() === "" ? [] : text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,16}$/.test(part));
  if (wrong === undefined) return checkValue(name, parts.map(Number));
  return { problem: `has to be user ids separated by commas; not valid: ${JSON.stringify(wrong)}` };
}

/** Removes the service's own secrets: its worker and the worker's child processes do not need them. */
export function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const secrets = Object.values(SETTINGS).filter(({ kind }) => kind.type === "secret");
  const names = new Set<string>(secrets.map(({ variable }) => variable));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name)));
}

/** A setting's value as displayed. */
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
