import { makeVisible } from "@autonous/runtime";
import type { Progress } from "@autonous/runtime";
import type { Screen } from "./screen.ts";

const EVERY_MS = 100;
const BAR_COLUMNS = 20;
const DETAIL_CHARACTERS = 200;
/** Where a line cannot be written anew: how often a call that knows its fraction says how far it is. */
const STEPS = 10;

/** How far calls are: a bar that is written anew in place, or a line for each tenth where that cannot be. */
export interface ProgressView {
  show(progress: Progress): void;
  /** The call is over. */
  over(tool_call_id: string): void;
}

export function createProgressView(screen: Screen, nameOf: (tool_call_id: string) => string): ProgressView {
  const told = new Map<string, number>();
  let shown: string | undefined;
  let next = 0;

  function showInPlace({ tool_call_id, fraction, detail }: Progress): void {
    const now = performance.now();
    if (now < next && tool_call_id === shown && fraction !== 1) return; // who watches sees no more often than this
    next = now + EVERY_MS;
    shown = tool_call_id;
    screen.status(
      `  ${[nameOf(tool_call_id), barOf(fraction), lastLine(detail)].filter((part) => part !== "").join(" ")}`,
    );
  }
  function showSteps({ tool_call_id, fraction, detail }: Progress): void {
    if (fraction === null) return;
    const step = Math.floor(clamp(fraction) * STEPS);
    if (step <= (told.get(tool_call_id) ?? 0)) return;
    told.set(tool_call_id, step);
    const percent = `${(step * 100) / STEPS} %`;
    screen.print([`  ${[nameOf(tool_call_id), percent, lastLine(detail)].filter((part) => part !== "").join(" ")}`]);
  }
  return {
    show: screen.rewrites ? showInPlace : showSteps,
    over(tool_call_id) {
      told.delete(tool_call_id);
      if (shown === tool_call_id) shown = undefined;
      screen.status("");
    },
  };
}

function barOf(fraction: number | null): string {
  if (fraction === null) return "";
  const done = clamp(fraction);
  const full = Math.floor(done * BAR_COLUMNS);
  return `${"█".repeat(full)}${"░".repeat(BAR_COLUMNS - full)} ${String(Math.floor(done * 100)).padStart(3)} %`;
}

/** Whatever a tool reports, it is from 0 to 1. */
function clamp(fraction: number): number {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
}

function lastLine(detail: string): string {
  return makeVisible((detail.trimEnd().split("\n").at(-1) ?? "").trim().slice(0, DETAIL_CHARACTERS));
}
