import { PROFILE_NAMES, SANDBOX_MODES } from "../protocol/configuration.ts";
import { ToolError } from "../protocol/errors.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

interface OptionKind {
  readonly is: (value: unknown) => boolean;
  /** A description of valid values. */
  readonly what: string;
}

/** The maximum delay of a timer; a longer one would fire immediately. */
const LONGEST_MS = 2 ** 31 - 1;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function oneOf(names: readonly string[]): OptionKind {
  return { is: (value) => names.some((name) => name === value), what: names.map((name) => `"${name}"`).join(", ") };
}

function countsOf(...names: readonly string[]): OptionKind {
  return {
    is: (value) =>
      isObject(value) &&
      Object.entries(value).every(([name, each]) => each === undefined || (names.includes(name) && isCount(each))),
    what: `an object with ${names.join(", ")}, each a whole number above 0`,
  };
}

function namedAs(...names: readonly string[]): OptionKind {
  return {
    is: (value) => isObject(value) && Object.keys(value).every((name) => names.includes(name)),
    what: `an object with ${names.join(", ")}`,
  };
}

const TEXT: OptionKind = { is: (value) => typeof value === "string" && value !== "", what: "text that is not empty" };
const ANY_TEXT: OptionKind = { is: (value) => typeof value === "string", what: "text" };
const TEXTS: OptionKind = { is: areTexts, what: "a list of texts" };
const LIST: OptionKind = { is: Array.isArray, what: "a list" };
const SWITCH: OptionKind = { is: (value) => typeof value === "boolean", what: "true or false" };
const FUNCTION: OptionKind = { is: (value) => typeof value === "function", what: "a function" };
const OBJECT: OptionKind = { is: isObject, what: "an object" };
const TIME: OptionKind = {
  is: (value) => typeof value === "number" && value > 0 && value <= LONGEST_MS,
  what: `milliseconds, above 0 and at most ${LONGEST_MS}`,
};

/** The type of each option, unless it is checked where it is used. */
// oxfmt-ignore
const OPTIONS = {
  roots:               TEXTS,
  cwd:                 TEXT,
  state_dir:           TEXT,
  looking:             SWITCH,
  profile:             oneOf(PROFILE_NAMES),
  config:              OBJECT,
  origins:             LIST,
  projects:            LIST,
  tools:               TEXTS,
  more_tools:          LIST,
  own_files:           TEXTS,
  onApproval:          FUNCTION,
  onCheckpoint:        FUNCTION,
  onReverseThinking:   FUNCTION,
  known_secrets:       TEXTS,
  run_id:              TEXT,
  resumes:             SWITCH,
  limits:              countsOf("lines", "bytes"),
  timeout_ms:          TIME,
  network:             { is: (value) => isObject(value) && areTexts(value["allow"]), what: "an object with allow, a list of texts" },
  skill:               TEXT,
  isTrustedSkill:      FUNCTION,
  sandbox:             oneOf(SANDBOX_MODES),
  bash_timeout_ms:     TIME,
  script_timeout_ms:   TIME,
  command_limits:      namedAs("memory_bytes", "processes", "file_bytes", "open_files"), // values are checked later, against the machine
  bash_denylist:       ANY_TEXT,
  approval_timeout_ms: TIME,
  approvals:           OBJECT,
  session:             TEXT,
  quotas:              OBJECT,
  memory:              OBJECT,
  openJournal:         FUNCTION,
  clock:               FUNCTION,
  onEvent:             FUNCTION,
  actor:               OBJECT,
  keeps_results:       SWITCH,
  replay_options:      TEXTS,
} as const satisfies Readonly<Record<keyof RuntimeOptions, OptionKind>>;

/**
 * Refuses unknown options and invalid values, and names each of them: otherwise an unknown name would be ignored
 * silently, and an invalid value would fail at the first call, or never. JavaScript callers have no compiler to catch
 * this.
 */
export function checkOptions(options: RuntimeOptions): RuntimeOptions {
  if (!isObject(options)) throw refusal(["the options are not an object"]);
  const problems = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (!Object.hasOwn(OPTIONS, name)) return [`"${name.slice(0, 100)}" is not an option`];
    const { is, what } = OPTIONS[name as keyof RuntimeOptions];
    // A missing option is valid, except `roots`.
    return (value === undefined && name !== "roots") || is(value) ? [] : [`${name} has to be ${what}`];
  });
  if (options.roots === undefined) problems.push("roots has to be a list of texts");
  if (problems.length > 0) throw refusal([...new Set(problems)]);
  return options;
}

function refusal(problems: readonly string[]): ToolError {
  return new ToolError("InvalidArguments", `Cannot start the runtime: ${problems.join("; ")}`, { problems });
}
