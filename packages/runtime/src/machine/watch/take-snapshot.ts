import { isInside } from "../../paths/inside.ts";
import { enterFolder, knowledgeOf, withAttributes } from "../git/work-tree.ts";
import type { GitKnowledge, GitPlace } from "../git/work-tree.ts";
import { decodeKey, keyOf, nameOf } from "../system/keys.ts";
import {
  cachesInPackages,
  isLaterFolder,
  isLoadedPackages,
  laterBehind,
  mayHoldLater,
  placeOf,
} from "./closed-names.ts";
import { isIgnoredFolder, NO_RULES } from "../tree/ignore-rules.ts";
import type { IgnoreRules } from "../tree/ignore-rules.ts";
import { childrenIn, isHeavy, statsOf, whyHidden } from "../tree/list-folder.ts";
import type { Child } from "../tree/list-folder.ts";
import type { SnapshotOptions } from "./snapshot-options.ts";
import { snapshotFile } from "./snapshot-file.ts";
import { FolderToRead, readSmall } from "../tree/read-entry.ts";
import { rulesOf } from "../tree/ignore-rules.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { haveSameFacts, factsOf, folderEntry, isYoungAt, joinKey } from "../tree/tree-snapshot.ts";
import type { Facts, Place, TreeEntry, TreeFolder, TreeSnapshot } from "../tree/tree-snapshot.ts";
import { AFTER_FACTOR, FOLDER_BYTES, HOLD_FACTOR } from "../tree/tree-limits.ts";

interface QueuedFolder {
  readonly key: string;
  readonly above: IgnoreRules;
  readonly isIgnored: boolean;
  /** The git place of the parent folder. */
  readonly place?: GitPlace | undefined;
}

/** Yield to the event loop this often. */
const TURN_MS = 8;

/**
 * Scans every file below the roots: names, times and sizes, without following links, and stores contents that are not
 * stored yet. Costs about 3 µs per known file, plus reading the unknown ones.
 */
export async function takeSnapshot(options: SnapshotOptions): Promise<TreeSnapshot> {
  return await new Walk(options).run();
}

class Walk {
  readonly #options: SnapshotOptions;
  readonly #folders = new Map<string, TreeFolder>();
  readonly #left_out = new Map<string, string>();
  /** Queues by priority: folders that may contain run-later files; the rest; folders that git ignores. */
  readonly #first: QueuedFolder[] = [];
  readonly #usual: QueuedFolder[] = [];
  readonly #last: QueuedFolder[] = [];
  readonly #closed: ReadonlySet<string>;
  /** Whether git's configuration names the same paths as at the previous snapshot; else every name is judged again. */
  readonly #hasSamePlaces: boolean;
  /** Excludes the time for holding git objects. */
  #startMs = performance.now();
  readonly #lookMs: number;
  readonly #budget = { kept: 0, readBytes: 0, laterBytes: 0, isLate: false };
  #turnMs = performance.now() + TURN_MS;
  #looked = 0;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#closed = new Set(options.workspace.state_dirs.map(keyOf));
    this.#lookMs = options.limits.look_ms * (options.isAfter ? AFTER_FACTOR : 1);
    this.#hasSamePlaces = options.previous?.git_places === options.workspace.git_places;
  }

  async run(): Promise<TreeSnapshot> {
    const { workspace, limits, signal } = this.#options;
    signal.throwIfAborted();
    for (const root of outermost(workspace.roots)) {
      this.#usual.push({ key: keyOf(root), above: NO_RULES, isIgnored: false });
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const spentMs = performance.now() - this.#startMs;
      if (this.#looked >= limits.look_files) {
        this.#left_out.set(next.key, `there are more than ${limits.look_files} files and folders`);
      } else if (spentMs > 2 * this.#lookMs) {
        this.#left_out.set(next.key, `the scan took more than ${2 * this.#lookMs} ms`);
      } else {
        await this.#visit(next);
      }
    }
    const { git_places } = workspace;
    return { folders: this.#folders, left_out: this.#left_out, ...(git_places === undefined ? {} : { git_places }) };
  }

  #next(): QueuedFolder | undefined {
    return this.#first.pop() ?? this.#usual.pop() ?? this.#last.pop();
  }

  async #visit(waiting: QueuedFolder): Promise<void> {
    const { key, above, isIgnored } = waiting;
    const { previous, workspace } = this.#options;
    this.#looked++;
    const nowMs = Date.now(); // compared with file times, so it is the system clock and not the injected one
    const stats = statsOf(key);
    if (stats?.isDirectory() !== true) return this.#leaveOut(key); // gone, unless it is hidden
    const facts = factsOf(stats);
    const known = previous?.folders.get(key);
    this.#options.opened?.open(key, facts);
    const children = this.#childrenOf(key, facts, known);
    if (children === undefined) return;
    const real = known?.real ?? decodeKey(key);
    const rules = children.some(({ name }) => name === ".gitignore") ? rulesOf(key, { real, above, known }) : above;
    const entries = new Map<string, TreeEntry>();
    const isLater = (this.#hasSamePlaces ? known?.isLater : undefined) ?? isLaterFolder(real, workspace);
    const isYoung = isYoungAt(nowMs, facts);
    const folder = { key, real, facts, isYoung, isLater, isIgnored, above, rules, entries };
    const place = await this.#gitPlaceOf(waiting, children);
    const git = knowledgeOf(place);
    const toRead = new FolderToRead(key);
    try {
      for (const { name, isFolder } of children) {
        const before = known?.entries.get(name);
        const result = isFolder
          ? this.#queueFolder(folder, { name, before, place })
          : this.#snapshotFile(folder, { name, before, toRead, nowMs, git });
        const entry = result instanceof Promise ? await result : result;
        if (entry !== undefined) entries.set(name, entry);
        else if (!isFolder && this.#isHidden(key, name)) return;
        const clockMs = performance.now();
        this.#budget.isLate = clockMs - this.#startMs > this.#lookMs;
        if (clockMs > this.#turnMs) await this.#letOthersRun();
      }
    } finally {
      toRead.close();
    }
    this.#folders.set(key, folder);
  }

  #leaveOut(key: string): void {
    const why = whyHidden(key);
    if (why !== undefined) this.#left_out.set(key, why);
  }

  /** True for a name in a folder that may be listed but not entered, or with a too long path: its folder is left out. */
  #isHidden(folder: string, name: string): boolean {
    const why = whyHidden(joinKey(folder, name));
    if (why !== undefined) this.#left_out.set(folder, why);
    return why !== undefined;
  }

  /** An unchanged folder is not listed again. */
  #childrenOf(key: string, facts: Facts, known: TreeFolder | undefined): readonly Child[] | undefined {
    if (known !== undefined && !known.isYoung && haveSameFacts(known.facts, facts)) {
      return Array.from(known.entries, ([name, { kind }]) => ({ name, isFolder: kind === "directory" }));
    }
    if (facts.size > FOLDER_BYTES) {
      this.#left_out.set(key, "it has too many entries");
      return undefined;
    }
    try {
      return childrenIn(key);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#left_out.set(key, reasonOf(error));
      return undefined;
    }
  }

  /** Files in a `.git` folder are not in the index. */
  async #gitPlaceOf({ key, place }: QueuedFolder, children: readonly Child[]): Promise<GitPlace | undefined> {
    const { git, limits, keeps, isAfter, isAlone } = this.#options;
    if (!keeps || isAfter) return undefined;
    const isTop = children.some(({ name, isFolder }) => name === ".git" && isFolder);
    const nowMs = performance.now();
    const untilMs = nowMs + HOLD_FACTOR * limits.look_ms;
    const yieldIfDue = () => (performance.now() > this.#turnMs ? this.#letOthersRun() : undefined);
    const hold = { minFiles: limits.store_files, minBytes: limits.store_bytes, untilMs, isAlone, yieldIfDue };
    const own = isTop ? await git.begin(key, hold) : place && enterFolder(place, nameOf(key));
    this.#startMs += performance.now() - nowMs;
    if (own === undefined || !children.some(({ name }) => name === ".gitattributes")) return own;
    return withAttributes(own, readSmall(key, ".gitattributes"));
  }

  #snapshotFile(folder: TreeFolder, { name, before, toRead, nowMs, git }: FileChild): MaybeEntry | Promise<MaybeEntry> {
    this.#looked++;
    const stats = statsOf(joinKey(folder.key, name));
    if (stats === undefined) return undefined; // gone meanwhile
    const facts = factsOf(stats);
    const isKnown = this.#hasSamePlaces && before?.kind === facts.kind;
    const place = isKnown ? before.place : this.#placeOf(folder, name, facts);
    return snapshotFile({
      ...this.#options,
      budget: this.#budget,
      facts,
      before,
      place,
      git,
      name,
      toRead,
      nowMs,
      isHidden: () => this.#hides(joinKey(folder.key, name), false),
    });
  }

  #hides(key: string, isFolder: boolean): boolean {
    return this.#options.closes?.judge(decodeKey(key), isFolder) === "hide";
  }

  #placeOf(folder: TreeFolder, name: string, { kind }: Facts): Place {
    const { workspace } = this.#options;
    const place = placeOf(folder, decodeKey(name), workspace);
    if (place !== undefined || kind !== "link") return place;
    return laterBehind(decodeKey(joinKey(folder.key, name)), workspace) === undefined ? undefined : "later";
  }

  /** Queues a folder. One that is off limits to all tools is scanned only if it is new. */
  #queueFolder(folder: TreeFolder, { name, before, place }: FolderChild): MaybeEntry {
    const { previous, isAfter, workspace } = this.#options;
    const key = joinKey(folder.key, name);
    if (this.#closed.has(key)) return undefined;
    const text = decodeKey(name);
    const isKnown = before?.kind === "directory";
    const entry = isKnown && this.#hasSamePlaces ? before : folderEntry(placeOf(folder, text, workspace));
    const wasLeftOut = isAfter ? previous?.left_out.get(key) : undefined;
    const waiting = { key, above: folder.rules, isIgnored: folder.isIgnored, place };
    if (wasLeftOut !== undefined) {
      this.#left_out.set(key, wasLeftOut);
    } else if (this.#hides(key, true)) {
      // The sandbox hides it from the command, so no change in it can be the command's.
    } else if (entry.place === "sensitive") {
      if (isAfter && !isKnown) this.#first.push(waiting);
      // A sandbox hides it from the command.
      else if (workspace.sandbox === "none") this.#left_out.set(key, "it is off limits to all tools");
    } else if (isLoadedPackages(decodeKey(key), workspace) && (isKnown || !isAfter)) {
      if (isAfter ? previous?.folders.has(key) === true : !this.#options.keepsPackages) this.#queueUsual(waiting);
      else this.#queueCaches(waiting);
    } else if (folder.isLater || entry.place === "later" || mayHoldLater(decodeKey(key), workspace)) {
      this.#first.push(waiting);
    } else this.#queueUsual(waiting);
    return entry;
  }

  /** A command cannot change these packages, only the caches among them, so only those are scanned. */
  #queueCaches(waiting: QueuedFolder): void {
    const isIgnored = waiting.isIgnored || this.#isIgnored(waiting.key, waiting.above);
    for (const key of cachesInPackages(waiting.key, this.#options.workspace)) {
      const why = this.#options.isAfter ? this.#options.previous?.left_out.get(key) : undefined;
      if (why !== undefined) this.#left_out.set(key, why);
      else if (!this.#hides(key, true)) this.#queueUsual({ ...waiting, key }, isIgnored);
    }
  }

  /** `isIgnored`: whether git ignores it; undefined where not known yet. */
  #queueUsual(waiting: QueuedFolder, isIgnored?: boolean): void {
    const { heavy, limits } = this.#options;
    const { key, above } = waiting;
    if (waiting.isIgnored) this.#last.push(waiting);
    else if (!(isIgnored ?? this.#isIgnored(key, above))) this.#usual.push(waiting);
    else if (isHeavy(key, heavy, limits.ignored_files)) {
      this.#left_out.set(key, `git ignores it, and it has more than ${limits.ignored_files} entries`);
    } else this.#last.push({ ...waiting, isIgnored: true });
  }

  #isIgnored(key: string, above: IgnoreRules): boolean {
    const known = this.#options.previous?.folders.get(key);
    return known?.above === above ? known.isIgnored : isIgnoredFolder(decodeKey(key), above);
  }

  async #letOthersRun(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#options.signal.throwIfAborted();
    this.#turnMs = performance.now() + TURN_MS;
  }
}

type MaybeEntry = TreeEntry | undefined;

interface ChildFacts {
  readonly name: string;
  readonly before: MaybeEntry;
}

interface FolderChild extends ChildFacts {
  readonly place: GitPlace | undefined;
}

interface FileChild extends ChildFacts {
  readonly git: GitKnowledge;
  readonly toRead: FolderToRead;
  readonly nowMs: number;
}

function outermost(roots: readonly string[]): Set<string> {
  return new Set(roots.filter((root) => roots.every((other) => other === root || !isInside(other, root))));
}
