import type { Stats } from "node:fs";
import type { NamesQuery } from "../../contract/search.ts";
import { kindOf } from "../system/handle.ts";
import { mayMatch } from "./accelerate.ts";
import { decodeKey, folderOf, nameOf, orderOf } from "../system/keys.ts";
import type { NamesPlan } from "./plan-names.ts";
import type { VerifiedTree } from "./verified-tree.ts";

/** Filters an engine's names by pattern, kind, policy and rank. */
export class Picker {
  readonly #plan: NamesPlan;
  readonly #query: NamesQuery;
  readonly #tree: VerifiedTree;
  readonly #smallest: SmallestNames;
  readonly #matchesAll: boolean;
  #folder = "";
  #hidden = 0;

  constructor(plan: NamesPlan, query: NamesQuery, tree: VerifiedTree) {
    this.#plan = plan;
    this.#query = query;
    this.#tree = tree;
    this.#smallest = new SmallestNames(query.limit);
    this.#matchesAll = MATCHES_ALL.has(query.filter.pattern);
  }

  get hidden(): number {
    return this.#hidden;
  }

  /** "done": no later name can be among the first. "unable": the engine does not exclude the names it should. */
  take(names: readonly string[]): "go on" | "done" | "unable" {
    const { watch, derive } = this.#plan;
    for (const name of names) {
      const key = name.slice(name.startsWith("./") ? 2 : 0, name.endsWith("/") ? -1 : undefined);
      if (watch && key.endsWith("/.gitignore")) return "unable";
      if (derive && this.#takeFolders(key) === "done") return "done";
      if (this.#query.kind === "directory" && derive) continue;
      if (this.#takeOne(key) === "done") return "done";
    }
    if (this.#query.order === "newest") this.#tree.forget();
    return "go on";
  }

  result(): ReturnType<SmallestNames["result"]> {
    return this.#smallest.result();
  }

  /** The parent folders of a file, for an engine that lists only files. */
  #takeFolders(key: string): "go on" | "done" {
    const folder = folderOf(key);
    if (folder === this.#folder) return "go on";
    this.#folder = folder;
    for (let slash = folder.indexOf("/"); slash >= 0; slash = folder.indexOf("/", slash + 1)) {
      if (this.#takeOne(folder.slice(0, slash)) === "done") return "done";
    }
    return folder === "" ? "go on" : this.#takeOne(folder);
  }

  #takeOne(key: string): "go on" | "done" {
    if (!this.#matches(key)) return "go on";
    const candidate = this.#rank(key);
    const { after } = this.#query;
    if (candidate === undefined || (after !== undefined && candidate.rank <= after)) return "go on";
    if (this.#isPast(candidate)) return "done";
    if (!this.#smallest.mayTake(candidate)) return "go on";
    const verdict = this.#tree.judge(key);
    if (verdict === "hidden") this.#hidden++;
    if (verdict === "open") this.#smallest.offer(candidate);
    return this.#plan.ordered === "path" && this.#smallest.isFull ? "done" : "go on";
  }

  #matches(key: string): boolean {
    const { hint } = this.#plan;
    const { filter, max_depth } = this.#query;
    if (key === "" || key === ".") return false;
    if (hint !== undefined && !mayMatch(hint, nameOf(key))) return false;
    if (this.#plan.derive && max_depth !== undefined && key.split("/").length > max_depth) return false;
    return (this.#matchesAll || filter.matches(decodeKey(key))) && !OF_GIT.test(key);
  }

  /** Undefined if it is missing, or of another kind. */
  #rank(key: string): Candidate | undefined {
    const { order, kind } = this.#query;
    if (order === "path" && !this.#plan.mixed) return { key, rank: orderOf(key) };
    if (this.#tree.judge(key) === "closed") return undefined;
    const stats = this.#tree.lookAt(key);
    if (stats === undefined || (kind !== undefined && kindOf(stats) !== kind)) return undefined;
    return { key, rank: order === "path" ? orderOf(key) : rankByTime(stats, key) };
  }

  /** Whether a list sorted by newest has reached entries older than all wanted ones. */
  #isPast({ rank }: Candidate): boolean {
    const { bar } = this.#smallest;
    return this.#plan.ordered === "newest" && bar !== undefined && rank.slice(0, DIGITS) > bar.slice(0, DIGITS);
  }
}

/** Git's own folders. */
const OF_GIT = /(?:^|\/)\.git(?:\/|$)/;

const MATCHES_ALL = new Set(["*", "**", "**/*"]);

const DIGITS = 16;
/** Year 2255, in microseconds. Entries that differ by less are ordered by path. */
const LATEST = Number.MAX_SAFE_INTEGER;

/** Newest first; names with the same time in path order. */
function rankByTime({ mtimeMs }: Stats, key: string): string {
  const age = Math.min(Math.max(0, LATEST - Math.round(mtimeMs * 1000)), LATEST);
  return `${String(age).padStart(DIGITS, "0")}${orderOf(key)}`;
}

interface Candidate {
  readonly key: string;
  readonly rank: string;
}

/** The first names by rank, selected from names in any order while holding at most twice the wanted number. */
class SmallestNames {
  readonly #limit: number;
  readonly #kept = new Map<string, string>(); // rank to key: a repeated name counts once
  #bar: string | undefined;
  #dropped = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Names from this rank on can no longer be among the first. */
  get bar(): string | undefined {
    return this.#bar;
  }

  get isFull(): boolean {
    return this.#kept.size > this.#limit;
  }

  /** False if enough names precede it; the list is then already known to be incomplete. */
  mayTake({ rank }: Candidate): boolean {
    return this.#bar === undefined || rank <= this.#bar;
  }

  offer({ key, rank }: Candidate): void {
    this.#kept.set(rank, key);
    if (this.#kept.size > 2 * this.#limit) this.#trim();
  }

  result(): { readonly names: readonly Candidate[]; readonly more: boolean } {
    const names = this.#trim();
    return { names, more: this.#dropped };
  }

  #trim(): Candidate[] {
    const sorted = [...this.#kept.keys()].sort();
    const names = sorted.slice(0, this.#limit).map((rank) => ({ rank, key: this.#kept.get(rank) ?? "" }));
    if (sorted.length <= this.#limit) return names;
    this.#dropped = true;
    for (const rank of sorted.slice(this.#limit)) this.#kept.delete(rank);
    this.#bar = names.at(-1)?.rank;
    return names;
  }
}
