import { makeVisible } from "@autonous/runtime/internal";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import { diffLines } from "./diff-lines.ts";
import { argumentsOf, isExcerpt } from "../words/event-words.ts";
import { moreLines } from "./command-output.ts";
import type { Screen } from "./screen.ts";
import { wrap } from "../words/width.ts";

/** Longer changes are truncated: the live view must stay readable. */
const CHANGE_LINES = 8;
const ALL_LINES = 10_000;
const NAMED_FILES = 10;
/** Without a terminal, lines longer than this are broken. */
const MAX_WIDTH = 500;
const INDENT = "    ";

interface ChangeOptions {
  readonly screen: Pick<Screen, "columns" | "paint">;
  readonly all: boolean;
  /** The text is truncated. */
  readonly isCut?: boolean;
}

/** What a call changed: a diff, the first lines of what it wrote, or the files with what happened to them. */
export function changeLines(
  payload: RuntimeEvent["payload"],
  result: ToolCallResult | undefined,
  options: ChangeOptions,
): readonly string[] {
  if (result === undefined) return [];
  const { diff, created, bytes_written, removed } = Object(result.payload?.data) as Readonly<Record<string, unknown>>;
  if (typeof diff === "string" && diff !== "") return textLines(diff, options);
  const args = argumentsOf(payload);
  const isCut = isExcerpt(payload);
  if (typeof bytes_written === "number")
    return [
      ...nameLines(result, options, created === true ? "created" : "wrote"),
      ...writtenLines(args, { ...options, isCut }),
    ];
  if (typeof removed === "string") return nameLines(result, options, "deleted");
  const { patch_text } = args;
  const names = nameLines(result, options, "changed");
  return typeof patch_text === "string" ? [...names, ...textLines(patch_text, { ...options, isCut })] : names;
}

/** The content that a call wrote is its longest argument, whatever its name. */
function writtenLines(args: Readonly<Record<string, unknown>>, options: ChangeOptions): readonly string[] {
  const texts = Object.entries(args).filter(([name]) => !/path|file$|mode|sha256/.test(name));
  const [content = ""] = texts
    .map(([, value]) => value)
    .filter((value) => typeof value === "string")
    .toSorted((a, b) => b.length - a.length);
  if (content === "") return [];
  const added = content.replace(/\n$/, "").replaceAll(/^/gm, "+");
  return textLines(added, options);
}

function textLines(text: string, { screen, all, isCut = false }: ChangeOptions): readonly string[] {
  const width = (screen.columns ?? MAX_WIDTH) - INDENT.length;
  const { lines, more } = diffLines(text, { screen, width, most: all ? ALL_LINES : CHANGE_LINES });
  const count = moreLines(more);
  const rest = isCut ? [more === 0 ? "… and more" : `… over ${count}`] : more === 0 ? [] : [`… ${count}`];
  return [...lines, ...rest].map((line) => `${INDENT}${line}`);
}

interface ChangedPaths {
  readonly added?: readonly string[];
  readonly deleted?: readonly string[];
}

/** The files of a result with what happened to them: `created a.txt`, `deleted b.txt`. */
function nameLines({ artifacts, payload }: ToolCallResult, { screen }: ChangeOptions, word: string): readonly string[] {
  const { added = [], deleted = [] } = { ...Object(payload?.data), ...payload?.meta } as ChangedPaths;
  const others = artifacts.files_changed.filter((path) => !added.includes(path) && !deleted.includes(path));
  return [
    { word: "created", paths: added },
    { word, paths: others },
    { word: "deleted", paths: deleted },
  ].flatMap(({ word: what, paths }) => {
    if (paths.length === 0) return [];
    const more = paths.length > NAMED_FILES ? ` and ${paths.length - NAMED_FILES} more` : "";
    const text = makeVisible(`${what} ${paths.slice(0, NAMED_FILES).join(", ")}${more}`);
    const { columns } = screen;
    const rows = columns === undefined ? [text] : wrap(text, Math.max(1, columns - INDENT.length));
    return rows.map((row) => `${INDENT}${screen.paint("dim", row)}`);
  });
}
