import type { ArgsAdapter, Tool } from "../contract/tool.ts";
import { ToolError } from "../protocol/errors.ts";

/** A tool, found by one of its names. */
interface NamedTool {
  readonly tool: Tool;
  /** Applied to the arguments in this order, before schema validation. */
  readonly adapters: readonly ArgsAdapter[];
}

/** Names, aliases and versions. */
export class Registry {
  readonly #tools = new Map<string, Tool>();
  #all: readonly Tool[] | undefined;
  readonly #names = new Map<string, { readonly tool: Tool; readonly adapt?: ArgsAdapter }>();

  /** Registers all names of the tool, or none. */
  register(tool: Tool): void {
    const names = [{ name: tool.name }, ...tool.aliases];
    const seen = new Set<string>();
    for (const { name } of names) {
      const owner = this.#names.get(name)?.tool.name ?? (seen.has(name) ? tool.name : undefined);
      if (owner !== undefined)
        throw new TypeError(`Cannot register tool "${tool.name}": the name "${name}" is taken by "${owner}"`);
      seen.add(name);
    }
    this.#tools.set(tool.name, tool);
    this.#all = undefined;
    for (const { name, ...alias } of names) this.#names.set(name, { tool, ...alias });
  }

  /** Returns the same list until another tool is registered. */
  all(): readonly Tool[] {
    return (this.#all ??= [...this.#tools.values()]);
  }

  get(name: string): Tool | undefined {
    return this.#names.get(name)?.tool;
  }

  find(name: string, version: string | undefined): NamedTool {
    const found = this.#names.get(name);
    if (found === undefined) throw unknownTool(name, [...this.#names.keys()]);
    const { tool, adapt } = found;
    const adapters = adapt === undefined ? [] : [adapt];
    const old = version === undefined ? undefined : adapterFor(tool, version);
    return { tool, adapters: old === undefined ? adapters : [...adapters, old] };
  }
}

function unknownTool(name: string, names: readonly string[]): ToolError {
  const nearest = nearestNames(name, names);
  const guess = nearest.length === 0 ? "" : `; did you mean ${nearest.map((each) => `"${each}"`).join(" or ")}?`;
  return new ToolError("UnknownTool", `No tool named ${JSON.stringify(name.slice(0, 100))}${guess}`, { nearest });
}

const SEMVER = /^(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?$/;

/** The adapter from an older major version; undefined if the version is the current one (spec 1, Versions). */
function adapterFor(tool: Tool, version: string): ArgsAdapter | undefined {
  const wanted = SEMVER.exec(version);
  const served = SEMVER.exec(tool.version);
  const major = Number(wanted?.[1] ?? -1);
  if (wanted !== null && major === Number(served?.[1]) && isAtMost(wanted, served)) return undefined;
  const old = tool.old_versions.find((each) => each.major === major);
  if (wanted !== null && old !== undefined) return old.adapt;
  const versions = [tool.version, ...tool.old_versions.map((each) => `${each.major}`)];
  throw new ToolError(
    "VersionUnsupported",
    `Cannot call "${tool.name}" as version ${JSON.stringify(version)}: supported: ${versions.join(", ")}`,
    { served: versions },
  );
}

/** A newer minor version may use fields that this one does not know. */
function isAtMost(wanted: RegExpExecArray, served: RegExpExecArray | null): boolean {
  return Number(wanted[2] ?? 0) <= Number(served?.[2] ?? 0);
}

/** The names most similar to the given one, best first; names with little in common are left out. */
export function nearestNames(wanted: string, names: readonly string[], count = 3): string[] {
  const asked = wanted.slice(0, COMPARED_CHARACTERS).toLowerCase();
  return names
    .map((name) => ({ name, distance: distance(asked, name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(2, Math.floor(name.length / 2)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name }) => name);
}

const COMPARED_CHARACTERS = 64;

/** Levenshtein distance: the number of characters to add, remove or change. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
