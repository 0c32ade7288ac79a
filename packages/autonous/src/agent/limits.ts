/** What a run may use up (spec 4, The loop). */
export interface AgentLimits {
  /** Model rounds. */
  readonly max_turns: number;
}

interface Used {
  readonly turns: number;
}

interface LimitRow {
  readonly limit: keyof AgentLimits;
  readonly setting: string;
  used(used: Used): number;
}

/** Every limit, and the setting that raises it. */
// oxfmt-ignore
const LIMITS: readonly LimitRow[] = [
  { limit: "max_turns", setting: "AUTONOUS_MAX_TURNS", used: ({ turns }) => turns },
];

/** Why there is no other turn, where a limit says so. A limit that is no number lets nothing through. */
export function reachedLimit(limits: AgentLimits, used: Used): string | undefined {
  const row = LIMITS.find((each) => !(each.used(used) < limits[each.limit]));
  return (
    row && `Stopped: the limit ${row.limit} (${row.setting}) is ${limits[row.limit]}, and ${row.used(used)} are used`
  );
}
