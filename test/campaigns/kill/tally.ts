/** What a campaign counts on its way. */
export class Tally {
  cycles = 0;
  readonly kills: Record<string, number> = {};
  /** When a process was killed, or put to sleep. */
  readonly strikes: number[] = [];
  /** From a kill to the next event of a task that goes on, in milliseconds. */
  readonly gaps: number[] = [];
  /** How long a process was there after the one that had started it was killed. */
  longest_left_ms = 0;
  /** Approvals that a person has said something to, whether or not they were told that it counts. */
  readonly answered = new Set<string>();
  answered_while_down = 0;

  kill(kind: string): void {
    this.kills[kind] = (this.kills[kind] ?? 0) + 1;
  }
}

/** The final report of a campaign. */
export interface Figures {
  readonly cycles: number;
  readonly kills: Readonly<Record<string, number>>;
  readonly tasks: number;
  readonly tasks_by_state: Readonly<Record<string, number>>;
  readonly resumed: number;
  readonly calls: number;
  readonly interrupted: number;
  readonly run_again: number;
  readonly model_requests: number;
  readonly approvals: Readonly<Record<string, number>>;
  readonly answered_while_down: number;
  readonly tried_again: number;
  readonly replies: number;
  readonly duplicates: number;
  readonly events: number;
  readonly restart_gap_ms: { readonly p50: number; readonly max: number; readonly measured: number };
  readonly longest_left_ms: number;
}

/** Those of several worlds together. `gaps` are all that were measured. */
export function addUp(parts: readonly Figures[], gaps: readonly number[]): Figures {
  const sum = (read: (part: Figures) => number): number => parts.reduce((total, part) => total + read(part), 0);
  const merge = (read: (part: Figures) => Readonly<Record<string, number>>): Record<string, number> => {
    const total: Record<string, number> = {};
    for (const [name, count] of parts.flatMap((part) => Object.entries(read(part))))
      total[name] = (total[name] ?? 0) + count;
    return total;
  };
  return {
    cycles: sum(({ cycles }) => cycles),
    kills: merge(({ kills }) => kills),
    tasks: sum(({ tasks }) => tasks),
    tasks_by_state: merge(({ tasks_by_state }) => tasks_by_state),
    resumed: sum(({ resumed }) => resumed),
    calls: sum(({ calls }) => calls),
    interrupted: sum(({ interrupted }) => interrupted),
    run_again: sum(({ run_again }) => run_again),
    model_requests: sum(({ model_requests }) => model_requests),
    approvals: merge(({ approvals }) => approvals),
    answered_while_down: sum(({ answered_while_down }) => answered_while_down),
    tried_again: sum(({ tried_again }) => tried_again),
    replies: sum(({ replies }) => replies),
    duplicates: sum(({ duplicates }) => duplicates),
    events: sum(({ events }) => events),
    restart_gap_ms: gapFigures(gaps),
    longest_left_ms: Math.max(0, ...parts.map(({ longest_left_ms }) => longest_left_ms)),
  };
}

export function gapFigures(gaps: readonly number[]): Figures["restart_gap_ms"] {
  const sorted = gaps.toSorted((one, other) => one - other);
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0, measured: sorted.length };
}

/** How many there are of each. */
export function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
