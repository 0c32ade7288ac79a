import { makeVisible, showPlainly, visibleJson } from "@autonous/runtime";
import type { ApprovalRequest, Label } from "@autonous/runtime";
import { diffLines } from "./diff-lines.ts";
import type { Screen } from "./screen.ts";
import { foldHard, pad, wrap } from "../words/width.ts";

interface Asking {
  readonly screen: Pick<Screen, "paint" | "columns" | "rows">;
  /** Show all of it, however long; else what fits the screen. */
  readonly whole: boolean;
  readonly now: number;
  /** Rows of the screen that something else needs. */
  readonly reserved: number;
  /** Whether the command that answers at a terminal is named. Default: yes. */
  readonly elsewhere?: boolean;
}

const LABEL_COLUMNS = 11;
/** On narrower screens a label has a line of its own. */
const NARROW = 56;
const LEAST_COLUMNS = 20;
/** Lines of one thing where not all of it is asked for. */
const SHORT = { words: 4, exact: 5, touches: 5, diff: 6 } as const;
/** Rows for the path above a diff and the remark below it. */
const MARGIN = 2;
/** Whole is not without end: this much no terminal scrolls back to. */
const WHOLE = 20_000;

/** What a person is asked to agree to. Nothing in it is hidden, and nothing in it acts on the terminal. */
export function requestLines(request: ApprovalRequest, asking: Asking): readonly string[] {
  const { screen, now, reserved, elsewhere = true } = asking;
  const title = makeVisible(`Allow ${request.tool}?`);
  const before = [
    ...foldHard(title, screen.columns ?? WHOLE).map((line) => screen.paint("bold", line)),
    ...labelled("risk", [screen.paint(RISK_STYLES[request.risk], riskOf(request))], { asking, most: 1 }),
    ...words("why", request.reason, asking),
    ...words("rule", request.rule, asking),
    ...(request.commands ?? []).flatMap((command) => commandLines(command, asking)),
    ...touchLines(request, asking),
    ...scriptLines(request, asking),
    ...exact("arguments", argumentsOf(request), asking),
  ];
  const after = [
    ...exact("digest", asking.whole ? request.digest : shortDigest(request), asking),
    ...words("answer", `within ${timeLeft(request.expires_at, now)}`, asking),
    ...(elsewhere ? exact("elsewhere", `autonous approvals grant ${request.approval_id}`, asking) : []),
  ];
  const room = screen.rows - before.length - after.length - reserved - MARGIN;
  return [...before, ...changeLines(request, asking, Math.max(SHORT.diff, room)), ...after];
}

/** Enough to compare by eye with what `approvals show` and the record have. */
const SHORT_DIGEST = 12;

function shortDigest({ digest }: ApprovalRequest): string {
  return digest.length <= SHORT_DIGEST ? digest : `${digest.slice(0, SHORT_DIGEST)}…`;
}

/** What people are told about a tool. */
export const LABEL_WORDS = { read_only: "read-only", destructive: "destructive" } as const satisfies Record<
  Label,
  string
>;

export function riskOf({ risk, labels = [] }: ApprovalRequest): string {
  return [risk, ...labels.map((label) => LABEL_WORDS[label])].join(", ");
}

const RISK_STYLES = { low: "green", medium: "yellow", high: "red" } as const;

/** As they are where they may be shown so: the others are written out twice over. */
function argumentsOf({ args_json, params }: ApprovalRequest): string {
  return args_json === undefined ? visibleJson(params) : showPlainly(args_json);
}

function commandLines(
  { command, folder, network, found }: NonNullable<ApprovalRequest["commands"]>[number],
  asking: Asking,
): readonly string[] {
  const where = `in ${folder}, ${network ? "with the network" : "without network"}${found === undefined ? "" : `: ${found}`}`;
  return [...exact("command", command, asking), ...words("", where, asking)];
}

function touchLines({ touches }: ApprovalRequest, asking: Asking): readonly string[] {
  const most = asking.whole ? WHOLE : SHORT.touches;
  const shown = touches
    .slice(0, most)
    .flatMap(({ path, access }, i) => exact(i === 0 ? "touches" : "", `${access} ${path}`, asking));
  return [...shown, ...moreLines(touches.length - most, "path", asking)];
}

function scriptLines({ script }: ApprovalRequest, asking: Asking): readonly string[] {
  if (script === undefined) return [];
  return [
    ...exact("script", `${script.path} of the skill ${script.skill}`, asking),
    ...exact("", `sha256 ${script.sha256}`, asking),
  ];
}

function changeLines({ changes = [] }: ApprovalRequest, asking: Asking, room: number): readonly string[] {
  const width = Math.max(LEAST_COLUMNS, (asking.screen.columns ?? WHOLE) - 2);
  const lines: string[] = [];
  let left = asking.whole ? WHOLE : room;
  for (const [index, { path, diff, truncated }] of changes.entries()) {
    if (left <= 0) return [...lines, ...moreLines(changes.length - index, "changed file", asking)];
    const { lines: shown, more } = diffLines(diff, { screen: asking.screen, width, most: left });
    lines.push(
      ...exact("changes", path, asking),
      ...shown.map((line) => `  ${line}`),
      ...moreLines(more, "line", asking),
    );
    if (truncated) lines.push(...remark("… the change is too long to be shown whole", asking.screen));
    left -= shown.length + 1;
  }
  return lines;
}

function moreLines(more: number, what: string, { screen }: Asking): readonly string[] {
  if (more <= 0) return [];
  return remark(`… ${more} more ${what}${more === 1 ? "" : "s"}: d shows all`, screen);
}

function remark(text: string, { paint, columns = 80 }: Asking["screen"]): readonly string[] {
  return wrap(text, Math.max(LEAST_COLUMNS, columns - 2)).map((line) => `  ${paint("bold", line)}`);
}

/** Text of words: broken between them. */
function words(label: string, text: string, asking: Asking): readonly string[] {
  const lines = wrap(makeVisible(text), roomBeside(asking));
  return labelled(label, lines, { asking, most: SHORT.words });
}

/** Text that is exactly this: every character where it was. */
function exact(label: string, text: string, asking: Asking): readonly string[] {
  const width = roomBeside(asking);
  // What is far beyond the last line that is shown is not worth measuring.
  const near = asking.whole ? text : text.slice(0, width * (SHORT.exact + 1));
  const lines = foldHard(makeVisible(near), width);
  const isCut = near.length < text.length;
  return labelled(label, lines, {
    asking,
    most: SHORT.exact,
    more: isCut ? Math.ceil((text.length - near.length) / width) : 0,
  });
}

interface Labelling {
  readonly asking: Asking;
  readonly most: number;
  readonly more?: number;
}

function labelled(label: string, lines: readonly string[], { asking, most, more = 0 }: Labelling): readonly string[] {
  const shown = lines.slice(0, asking.whole ? WHOLE : most);
  const rest = moreLines(lines.length - shown.length + more, "line", asking);
  const { paint } = asking.screen;
  if (isNarrow(asking))
    return [...(label === "" ? [] : [paint("dim", `${label}:`)]), ...shown.map((line) => `  ${line}`), ...rest];
  const margin = " ".repeat(LABEL_COLUMNS + 2);
  return [
    ...shown.map((line, i) => (i === 0 ? `  ${paint("dim", pad(label, LABEL_COLUMNS))}${line}` : `${margin}${line}`)),
    ...rest,
  ];
}

function isNarrow({ screen }: Asking): boolean {
  return screen.columns !== undefined && screen.columns < NARROW;
}

function roomBeside(asking: Asking): number {
  const { columns = 80 } = asking.screen;
  return Math.max(LEAST_COLUMNS, columns - 2 - (isNarrow(asking) ? 0 : LABEL_COLUMNS));
}

// oxfmt-ignore
const UNITS = [
  { unit: "day",    ms: 86_400_000 },
  { unit: "hour",   ms: 3_600_000 },
  { unit: "minute", ms: 60_000 },
  { unit: "second", ms: 1000 },
] as const;

/** How long a request can still be answered: "5 minutes". */
export function timeLeft(expires_at: string, now: number): string {
  const ms = Math.max(0, Date.parse(expires_at) - now);
  const { unit, ms: each } = UNITS.find((row) => ms >= 2 * row.ms) ?? UNITS[3];
  const number = Math.round(ms / each);
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}
