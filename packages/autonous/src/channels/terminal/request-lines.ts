import { makeVisible, showPlainly, visibleJson } from "@autonous/runtime/internal";
import type { ApprovalRequest } from "@autonous/runtime";
import type { Label } from "@autonous/runtime/internal";
import { diffLines } from "./diff-lines.ts";
import type { Screen } from "./screen.ts";
import { foldHard, pad, wrap } from "../words/width.ts";

interface RequestView {
  readonly screen: Pick<Screen, "paint" | "columns" | "rows">;
  /** Shows all of it, however long; otherwise what fits the screen. */
  readonly whole: boolean;
  readonly now: number;
  /** Rows of the screen that are reserved. */
  readonly reserved: number;
  /** Whether to show the command that answers from another terminal. Default: yes. */
  readonly elsewhere?: boolean;
}

const LABEL_COLUMNS = 11;
/** On narrower screens a label gets its own line. */
const NARROW = 56;
const MIN_COLUMNS = 20;
/** Lines per part of a shortened request. */
const SHORT = { words: 4, exact: 5, touches: 5, diff: 6 } as const;
/** Rows for the path above a diff and the remark below it. */
const MARGIN = 2;
/** Limit for the full request: no terminal scrolls back further. */
const WHOLE = 20_000;

/** The request that the user answers. Hidden characters are made visible, and nothing acts on the terminal. */
export function requestLines(request: ApprovalRequest, asking: RequestView): readonly string[] {
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

/** Long enough to compare by eye with `approvals show` and the record. */
const SHORT_DIGEST = 12;

function shortDigest({ digest }: ApprovalRequest): string {
  return digest.length <= SHORT_DIGEST ? digest : `${digest.slice(0, SHORT_DIGEST)}…`;
}

/** Labels of a tool for the user. */
export const LABEL_WORDS = { read_only: "read-only", destructive: "destructive" } as const satisfies Record<
  Label,
  string
>;

export function riskOf({ risk, labels = [] }: ApprovalRequest): string {
  return [risk, ...labels.map((label) => LABEL_WORDS[label])].join(", ");
}

const RISK_STYLES = { low: "green", medium: "yellow", high: "red" } as const;

/** Texts that can be shown directly; the others would be escaped twice. */
function argumentsOf({ args_json, params }: ApprovalRequest): string {
  return args_json === undefined ? visibleJson(params) : showPlainly(args_json);
}

function commandLines(
  { command, folder, network, found }: NonNullable<ApprovalRequest["commands"]>[number],
  asking: RequestView,
): readonly string[] {
  const where = `in ${folder}, ${network ? "with network" : "without network"}${found === undefined ? "" : `: ${found}`}`;
  return [...exact("command", command, asking), ...words("", where, asking)];
}

function touchLines({ touches }: ApprovalRequest, asking: RequestView): readonly string[] {
  const most = asking.whole ? WHOLE : SHORT.touches;
  const shown = touches
    .slice(0, most)
    .flatMap(({ path, access }, i) => exact(i === 0 ? "touches" : "", `${access} ${path}`, asking));
  return [...shown, ...moreLines(touches.length - most, "path", asking)];
}

function scriptLines({ script }: ApprovalRequest, asking: RequestView): readonly string[] {
  if (script === undefined) return [];
  return [
    ...exact("script", `${script.path} of the skill ${script.skill}`, asking),
    ...exact("", `sha256 ${script.sha256}`, asking),
  ];
}

function changeLines({ changes = [] }: ApprovalRequest, asking: RequestView, room: number): readonly string[] {
  const width = Math.max(MIN_COLUMNS, (asking.screen.columns ?? WHOLE) - 2);
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
    if (truncated) lines.push(...remark("… the diff is too long to show in full", asking.screen));
    left -= shown.length + 1;
  }
  return lines;
}

function moreLines(more: number, what: string, { screen }: RequestView): readonly string[] {
  if (more <= 0) return [];
  return remark(`… ${more} more ${what}${more === 1 ? "" : "s"}: d shows all`, screen);
}

function remark(text: string, { paint, columns = 80 }: RequestView["screen"]): readonly string[] {
  return wrap(text, Math.max(MIN_COLUMNS, columns - 2)).map((line) => `  ${paint("bold", line)}`);
}

/** Prose: wrapped between words. */
function words(label: string, text: string, asking: RequestView): readonly string[] {
  const lines = wrap(makeVisible(text), roomBeside(asking));
  return labelled(label, lines, { asking, most: SHORT.words });
}

/** Literal text: every character is kept. */
function exact(label: string, text: string, asking: RequestView): readonly string[] {
  const width = roomBeside(asking);
  // Text far beyond the last visible line need not be measured.
  const near = asking.whole ? text : text.slice(0, width * (SHORT.exact + 1));
  const lines = foldHard(makeVisible(near), width);
  const isCut = near.length < text.length;
  return labelled(label, lines, {
    asking,
    most: SHORT.exact,
    more: isCut ? Math.ceil((text.length - near.length) / width) : 0,
  });
}

interface LabelOptions {
  readonly asking: RequestView;
  readonly most: number;
  readonly more?: number;
}

function labelled(
  label: string,
  lines: readonly string[],
  { asking, most, more = 0 }: LabelOptions,
): readonly string[] {
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

function isNarrow({ screen }: RequestView): boolean {
  return screen.columns !== undefined && screen.columns < NARROW;
}

function roomBeside(asking: RequestView): number {
  const { columns = 80 } = asking.screen;
  return Math.max(MIN_COLUMNS, columns - 2 - (isNarrow(asking) ? 0 : LABEL_COLUMNS));
}

// oxfmt-ignore
const UNITS = [
  { unit: "day",    ms: 86_400_000 },
  { unit: "hour",   ms: 3_600_000 },
  { unit: "minute", ms: 60_000 },
  { unit: "second", ms: 1000 },
] as const;

/** Time left to answer a request: "5 minutes". */
export function timeLeft(expires_at: string, now: number): string {
  const ms = Math.max(0, Date.parse(expires_at) - now);
  const { unit, ms: each } = UNITS.find((row) => ms >= 2 * row.ms) ?? UNITS[3];
  const number = Math.round(ms / each);
  return `${number} ${unit}${number === 1 ? "" : "s"}`;
}
