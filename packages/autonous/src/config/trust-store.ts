import { hash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { canonicalJson, headsFolder, isInside, NotAFileError, readOwnText } from "@autonous/runtime/internal";

/** `executable`: skills only; older versions did not store it. */
export interface TrustItemFile {
  readonly path: string;
  readonly sha256: string;
  readonly executable?: boolean;
}

/** A configuration, skill or module of a workspace, in its current state. */
export interface TrustItem {
  readonly kind: "configuration" | "skill" | "module";
  /** Its real path. */
  readonly path: string;
  /** Of the content. */
  readonly digest: string;
  readonly files: readonly TrustItemFile[];
  /**
   * Configurations only: the folders that it was trusted for. What it allows applies to all of them, so other folders
   * need new trust.
   */
  readonly roots?: readonly string[];
  /** Skills only: as in SKILL.md. Null or missing: unrestricted, or trusted by an older version. */
  readonly allowed_tools?: readonly string[] | null;
}

/** A thing that the user has trusted. */
export interface TrustedItem extends TrustItem {
  readonly trusted_at: string;
  readonly by: string;
}

/**
 * What the user has trusted: one file per thing, in the user's own state folder next to the chain heads,
 * which is off limits to all tools and hidden from sandboxed commands. One file per thing, so that concurrent
 * writers do not overwrite each other.
 */
export class TrustStore {
  readonly folder: string;

  constructor(environment: NodeJS.ProcessEnv = process.env) {
    this.folder = join(dirname(headsFolder(environment)), "trust");
  }

  /** Whether exactly this content was trusted at this path. */
  isTrusted(thing: Pick<TrustItem, "kind" | "path" | "digest" | "roots">): boolean {
    return this.find(thing)?.digest === thing.digest;
  }

  /** What was trusted at this path, whatever its current content. */
  find(thing: Pick<TrustItem, "kind" | "path" | "roots">): TrustedItem | undefined {
    const found = readThing(join(this.folder, nameOf(thing)));
    // The file name is a hash of these fields: a mismatch means that the file was placed there by hand.
    return found !== undefined && nameOf(found) === nameOf(thing) ? found : undefined;
  }

  /** Everything that was trusted in these folders. */
  inside(folders: readonly string[]): readonly TrustedItem[] {
    return namesIn(this.folder).flatMap((name) => {
      const found = readThing(join(this.folder, name));
      return found !== undefined && folders.some((folder) => isInside(folder, found.path)) ? [found] : [];
    });
  }

  /** The texts serve only to show later what changed. */
  add(thing: TrustedItem, texts: Texts = {}): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, nameOf(thing));
    replace(textsFile(path), { digest: thing.digest, texts });
    replace(path, thing);
  }

  /** The texts of the files that were trusted, by path. Empty if none are stored. */
  textsOf(thing: TrustedItem): Texts {
    const value = readJson(textsFile(join(this.folder, nameOf(thing))));
    const { digest, texts } = Object(value) as { readonly digest?: unknown; readonly texts?: unknown };
    if (digest !== thing.digest || typeof texts !== "object" || texts === null) return {};
    return Object.fromEntries(
      Object.entries(texts).filter((each): each is [string, string] => typeof each[1] === "string"),
    );
  }

  remove(thing: TrustItem): void {
    const path = join(this.folder, nameOf(thing));
    for (const each of [path, textsFile(path)]) rmSync(each, { force: true });
  }
}

/** Texts by file path. */
export type Texts = Readonly<Record<string, string>>;

/** Separate from the thing, which is read at every start and should stay small. */
function textsFile(path: string): string {
  return path.replace(/\.json$/, ".texts");
}

function replace(path: string, value: object): void {
  const made = `${path}.${process.pid}.new`;
  writeFileSync(made, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(made, path);
}

function nameOf({ kind, path, roots = [] }: Pick<TrustItem, "kind" | "path" | "roots">): string {
  return `${hash("sha256", canonicalJson([kind, path, [...roots].sort()]))}.json`;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Undefined if it is missing or invalid: then nothing is trusted. */
function readThing(path: string): TrustedItem | undefined {
  const value = readJson(path);
  return isThing(value) ? value : undefined;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readOwnText(path));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof NotAFileError) return undefined;
    throw error;
  }
}

function isThing(value: unknown): value is TrustedItem {
  const { kind, path, digest, files, roots = [] } = Object(value) as Readonly<Record<string, unknown>>;
  return (
    (kind === "configuration" || kind === "skill" || kind === "module") &&
    typeof path === "string" &&
    typeof digest === "string" &&
    Array.isArray(files) &&
    files.every((file) => typeof Object(file).path === "string" && typeof Object(file).sha256 === "string") &&
    Array.isArray(roots) &&
    roots.every((root) => typeof root === "string")
  );
}

export interface FileChange {
  readonly path: string;
  readonly change: "new" | "gone" | "changed" | "executable" | "not executable";
}

// oxfmt-ignore
const CHANGES = {
  new:              "is new",
  gone:             "is gone",
  changed:          "has changed",
  executable:       "has become executable",
  "not executable": "is no longer executable",
} as const satisfies Record<FileChange["change"], string>;

/** The files that changed since the thing was trusted, by path. */
export function filesChangedSince(before: TrustItem, now: TrustItem): readonly FileChange[] {
  const old = new Map(before.files.map((file) => [file.path, file]));
  const fresh = new Map(now.files.map((file) => [file.path, file]));
  const all = [...new Set([...old.keys(), ...fresh.keys()])].sort((one, other) => (one < other ? -1 : 1));
  return all.flatMap((path) => {
    const change = changeOf(old.get(path), fresh.get(path));
    return change === undefined ? [] : [{ path, change }];
  });
}

function changeOf(old: TrustItemFile | undefined, now: TrustItemFile | undefined): FileChange["change"] | undefined {
  if (old === undefined) return "new";
  if (now === undefined) return "gone";
  if (old.sha256 !== now.sha256) return "changed";
  if (old.executable === undefined || old.executable === now.executable) return undefined;
  return now.executable === true ? "executable" : "not executable";
}

/** The changes since the thing was trusted, as clauses about files. */
export function changesSince(before: TrustItem, now: TrustItem): readonly string[] {
  const changes = filesChangedSince(before, now).map(({ path, change }) => `"${path}" ${CHANGES[change]}`);
  // The digest of a skill covers more than the content of its files.
  return changes.length === 0 && before.digest !== now.digest ? ["which files are executable has changed"] : changes;
}
