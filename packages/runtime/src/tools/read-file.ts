type LegacyArgs = Readonly<Record<string, unknown>>;

const PATHS = ["target_file", "file_path", "filePath", "absolute_path", "filename"] as const;
const FIRST_LINES = ["start_line_one_indexed", "start_line_one_indexed_inclusive", "start_line"] as const;
const LAST_LINES = ["end_line_one_indexed_inclusive", "end_line_one_indexed", "end_line"] as const;
const WHOLE = ["should_read_entire_file", "read_entire_file"] as const;
/** Fields that callers address to people, not to the tool. */
const SAID = ["explanation"] as const;

const TAKEN: ReadonlySet<string> = new Set([...PATHS, ...FIRST_LINES, ...LAST_LINES, ...WHOLE, ...SAID]);

/** The arguments that other clients send with `read_file`. Invalid values are left for the schema to reject. */
export function adaptReadFile(given: LegacyArgs): Record<string, unknown> {
  // Some clients must send every argument, with null for those that they omit.
  const rest = Object.fromEntries(Object.entries(given).filter(([name, value]) => !TAKEN.has(name) && value !== null));
  const path = valueOf(given, PATHS);
  const named = path === undefined ? rest : { path, ...rest };
  if (valueOf(given, WHOLE) === true) {
    const { offset: _offset, limit: _limit, ...whole } = named as Record<string, unknown>;
    return whole;
  }
  const first = valueOf(given, FIRST_LINES);
  const last = valueOf(given, LAST_LINES);
  const { offset } = rest;
  return {
    ...(first === undefined ? {} : { offset: first }),
    ...(last === undefined || last === -1 ? {} : { limit: countLines(first, last) }), // -1: to the end
    ...named,
    // Clients that say absolute_path count lines from 0.
    ...("absolute_path" in given && typeof offset === "number" ? { offset: offset + 1 } : {}),
  };
}

function countLines(first: unknown = 1, last: unknown): unknown {
  return typeof first === "number" && typeof last === "number" ? last - first + 1 : last;
}

function valueOf(given: LegacyArgs, names: readonly string[]): unknown {
  return names.map((name) => given[name]).find((value) => value !== undefined && value !== null);
}
