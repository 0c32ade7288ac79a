import { makeVisible } from "@autonous/runtime/internal";
import type { Progress } from "@autonous/runtime/internal";
import { linesOf, outputLine } from "./command-output.ts";
import type { Screen } from "./screen.ts";
import { cutTo, foldHard } from "../words/width.ts";

const EVERY_MS = 100;
const BAR_COLUMNS = 20;
const DETAIL_CHARACTERS = 200;
/** Without redraw: interval of progress lines for a call that reports its fraction. */
const STEPS = 10;
/** Lines of output shown while a command runs. */
const OUTPUT_LINES = 5;
/** Only this much of the end of the output is kept. */
const KEPT_CHARACTERS = 16_384;
const INDENT = "    ";

/** Progress of calls: a bar or the end of their output, redrawn in place; or lines, if the screen cannot redraw. */
export interface ProgressView {
  show(progress: Progress): void;
  /** The call is over. Returns whether all of its output is on the screen. */
  over(tool_call_id: string): boolean;
}

interface ProgressOptions {
  readonly nameOf: (tool_call_id: string) => string;
  /** Lines above the output of a call. Default: none. */
  readonly titleOf?: (tool_call_id: string) => string;
  /** Prints all output of commands permanently as it arrives. */
  readonly verbose?: boolean;
}

export function createProgressView(screen: Screen, options: ProgressOptions): ProgressView {
  const { nameOf } = options;
  const shownSteps = new Map<string, number>();
  const drawer = createDrawer(screen);
  const output = createOutput(screen, drawer, options);

  function showInPlace({ tool_call_id, fraction, detail }: Progress): void {
    const parts = [nameOf(tool_call_id), barOf(fraction), lastLine(detail)].filter((part) => part !== "");
    drawer.draw(tool_call_id, [`  ${parts.join(" ")}`], fraction === 1);
  }
  function showSteps({ tool_call_id, fraction, detail }: Progress): void {
    if (fraction === null) return;
    const step = Math.floor(clamp(fraction) * STEPS);
    if (step <= (shownSteps.get(tool_call_id) ?? 0)) return;
    shownSteps.set(tool_call_id, step);
    const percent = `${(step * 100) / STEPS} %`;
    screen.print([`  ${[nameOf(tool_call_id), percent, lastLine(detail)].filter((part) => part !== "").join(" ")}`]);
  }
  return {
    show(progress) {
      if (progress.output !== undefined) output.push(progress);
      else if (screen.rewrites) showInPlace(progress);
      else showSteps(progress);
    },
    over(tool_call_id) {
      shownSteps.delete(tool_call_id);
      const isShown = output.over(tool_call_id);
      drawer.over(tool_call_id);
      return isShown;
    },
  };
}

interface Drawer {
  /** Draws now or soon: at most ten times per second, and always the final state. */
  draw(tool_call_id: string, rows: readonly string[], isLast?: boolean): void;
  over(tool_call_id: string): void;
}

function createDrawer(screen: Screen): Drawer {
  let shown: string | undefined;
  let rows: readonly string[] = [];
  let next = 0;
  let timer: NodeJS.Timeout | undefined;

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  function drawNow(): void {
    stop();
    next = performance.now() + EVERY_MS;
    screen.status(rows);
  }
  return {
    draw(tool_call_id, lines, isLast = false) {
      const isOther = tool_call_id !== shown;
      shown = tool_call_id;
      rows = lines;
      const wait = isLast || isOther ? 0 : next - performance.now();
      if (wait <= 0) drawNow();
      else timer ??= setTimeout(drawNow, wait).unref();
    },
    over(tool_call_id) {
      if (shown === tool_call_id) shown = undefined;
      stop();
      screen.status("");
    },
  };
}

/** The kept output of a call; when output is printed as it arrives, only the unfinished line. */
interface OutputState {
  text: string;
  stream: Progress["output"];
}

interface Output {
  push(progress: Progress): void;
  /** Returns whether all of the call's output is on the screen. */
  over(tool_call_id: string): boolean;
}

function createOutput(
  screen: Screen,
  drawer: Drawer,
  { titleOf = () => "", verbose = false }: ProgressOptions,
): Output {
  const printed = new Map<string, OutputState>();

  function printWhole(tool_call_id: string, text: string, stream: Progress["output"]): void {
    // An endless line is shown in parts.
    const end = text.length > KEPT_CHARACTERS ? text.length : text.lastIndexOf("\n") + 1;
    screen.print(linesOf(text.slice(0, end)).flatMap((line) => wholeRows(screen, line)));
    printed.set(tool_call_id, { text: text.slice(end), stream });
  }
  return {
    push({ tool_call_id, detail, output: stream }) {
      const before = printed.get(tool_call_id) ?? { text: "", stream };
      // stdout and stderr share the screen: neither continues the other's line.
      const isTorn = before.stream !== stream && before.text !== "" && !before.text.endsWith("\n");
      const text = `${before.text}${isTorn ? "\n" : ""}${detail}`;
      if (verbose) return printWhole(tool_call_id, text, stream);
      const kept = text.slice(-KEPT_CHARACTERS);
      printed.set(tool_call_id, { text: kept, stream });
      if (screen.rewrites) drawer.draw(tool_call_id, tailRows(screen, titleOf(tool_call_id), kept));
    },
    over(tool_call_id) {
      const { text = "" } = printed.get(tool_call_id) ?? {};
      const isPrinted = printed.delete(tool_call_id);
      if (verbose && text !== "") screen.print(wholeRows(screen, text));
      return verbose && isPrinted;
    },
  };
}

function wholeRows({ columns, paint }: Screen, line: string): readonly string[] {
  const clean = outputLine(line);
  const rows = columns === undefined ? [clean] : foldHard(clean, Math.max(1, columns - INDENT.length));
  return rows.map((row) => `${INDENT}${paint("dim", row)}`);
}

function tailRows({ columns = 80, rows, paint }: Screen, title: string, text: string): readonly string[] {
  const lines = linesOf(text).slice(-Math.min(OUTPUT_LINES, Math.max(1, rows - 3)));
  const width = columns - INDENT.length - 3; // leaves room for a typed "^C"
  const tail = lines.map((line) => `${INDENT}${paint("dim", cutTo(outputLine(line), width))}`);
  return title === "" ? tail : [`  ${title}`, ...tail];
}

function barOf(fraction: number | null): string {
  if (fraction === null) return "";
  const done = clamp(fraction);
  const full = Math.floor(done * BAR_COLUMNS);
  return `${"█".repeat(full)}${"░".repeat(BAR_COLUMNS - full)} ${String(Math.floor(done * 100)).padStart(3)} %`;
}

/** Clamps what a tool reports to 0..1. */
function clamp(fraction: number): number {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
}

function lastLine(detail: string): string {
  return makeVisible((detail.trimEnd().split("\n").at(-1) ?? "").trim().slice(0, DETAIL_CHARACTERS));
}
