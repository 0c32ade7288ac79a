import type { FileSide, PlannedFile } from "../../contract/context.ts";
import { showPlainly, showPlainlyLines } from "../../output/look-alikes.ts";
import type { ApprovalRequest } from "../../protocol/approval.ts";
import type { Redactor } from "../../redact/redact.ts";

type ShownChange = NonNullable<ApprovalRequest["changes"]>[number];

/** Limits for what a person can review: per file, and in total. */
const FILE_CHARACTERS = 16_384;
const ALL_CHARACTERS = 65_536;
/** A diff is cut here before redaction: far beyond what is shown, so that no shown secret is cut in half. */
const REDACTED_CHARACTERS = 8 * FILE_CHARACTERS;
/**
 * Texts up to this size are redacted before the comparison, because multi-line secrets are only found in the full text.
 */
const WHOLE_BYTES = 262_144;

/** The diff of each file as shown in the approval prompt: unified, redacted, control characters escaped. */
export async function describeChanges(files: readonly PlannedFile[], redactor: Redactor): Promise<ShownChange[]> {
  const shown: ShownChange[] = [];
  let left = ALL_CHARACTERS;
  for (const file of files) {
    const path = showPlainly(redactor.redact(file.path).text);
    if (left <= 0) {
      shown.push({ path, diff: "", truncated: true });
      continue;
    }
    const whole = showPlainlyLines(await diffOf(file, redactor));
    const diff = cutAtLine(whole, Math.min(FILE_CHARACTERS, left));
    left -= diff.length;
    shown.push({ path, diff, truncated: diff.length < whole.length });
  }
  return shown;
}

async function diffOf({ path, before, after }: PlannedFile, redactor: Redactor): Promise<string> {
  const mode = before !== null && after !== null && before.mode !== after.mode ? modeLines(before, after) : "";
  const texts = { before: textOf(before), after: textOf(after) };
  if (texts.before === undefined || texts.after === undefined) return `${mode}${sizes(before, after)}`;
  const { unifiedDiff } = await import("../../edits/unified-diff.ts"); // lazy: few calls need approval
  const isSmall = (before?.size ?? 0) <= WHOLE_BYTES && (after?.size ?? 0) <= WHOLE_BYTES;
  const prepare = (side: FileSide | null, text: string): string | undefined =>
    side === null ? undefined : isSmall ? redactor.redact(text).text : text;
  const diff = await unifiedDiff(path, prepare(before, texts.before), prepare(after, texts.after));
  if (diff === "" && texts.before !== texts.after) return `${mode}[only redacted text changes]\n`;
  return mode + redactor.redact(diff.slice(0, REDACTED_CHARACTERS)).text;
}

/** Undefined if it is binary, or too large to show. Empty if nothing exists. */
function textOf(side: FileSide | null): string | undefined {
  if (side === null) return "";
  if (side.content === undefined || side.content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(side.content);
  } catch {
    return undefined;
  }
}

function sizes(before: FileSide | null, after: FileSide | null): string {
  const say = (side: FileSide | null): string => (side === null ? "nothing" : `${side.size} bytes`);
  return `[binary or too large to show: from ${say(before)} to ${say(after)}]\n`;
}

function modeLines(before: FileSide, after: FileSide): string {
  const octal = (mode: number | undefined): string => (mode ?? 0).toString(8).padStart(6, "100000");
  return after.mode === undefined ? "" : `old mode ${octal(before.mode)}\nnew mode ${octal(after.mode)}\n`;
}

function cutAtLine(text: string, most: number): string {
  if (text.length <= most) return text;
  return text.slice(0, Math.max(0, text.lastIndexOf("\n", most - 1) + 1) || Math.max(0, most)).toWellFormed();
}
