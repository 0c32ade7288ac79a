import { hash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { canonicalJson, headsFolder, isInside, NotAFileError, readOwnText } from "@autonous/runtime";

/** `executable`: of skills. Left out by versions before this one. */
export interface ThingFile {
  readonly path: string;
  readonly sha256: string;
  readonly executable?: boolean;
}

/** Something that came with a workspace, as it is now. */
export interface Thing {
  readonly kind: "configuration" | "skill" | "module";
  /** Its real path. */
  readonly path: string;
  /** Of its content. */
  readonly digest: string;
  readonly files: readonly ThingFile[];
  /**
   * Of a configuration: the folders that it was trusted for. What it allows holds for all of them, so for others it is
   * asked about again.
   */
  readonly roots?: readonly string[];
  /** Of a skill: as SKILL.md has them. Null, or left out: it does not restrict, or was trusted by an older version. */
  readonly allowed_tools?: readonly string[] | null;
}

/** One that a person has trusted. */
export interface TrustedThing extends Thing {
  readonly trusted_at: string;
  readonly by: string;
}

/**
 * What a person has trusted: a file for each thing, in the person's own state folder beside the heads of the chains,
 * which is closed to every tool and hidden from every sandboxed command. One thing, one file: nobody who writes undoes
 * what another one wrote.
 */
export class TrustStore {
  readonly folder: string;

  constructor(environment: NodeJS.ProcessEnv = process.env) {
    this.folder = join(dirname(headsFolder(environment)), "trust");
  }

  /** Whether exactly this content was trusted, there and nowhere else. */
  isTrusted(thing: Pick<Thing, "kind" | "path" | "digest" | "roots">): boolean {
    return this.find(thing)?.digest === thing.digest;
  }

  /** What was trusted at that place, whatever is there now. */
  find(thing: Pick<Thing, "kind" | "path" | "roots">): TrustedThing | undefined {
    const found = readThing(join(this.folder, nameOf(thing)));
    // The name of the file is a hash of these: one that says something else was put there by hand.
    return found !== undefined && nameOf(found) === nameOf(thing) ? found : undefined;
  }

  /** Everything that was trusted in these folders. */
  inside(folders: readonly string[]): readonly TrustedThing[] {
    return namesIn(this.folder).flatMap((name) => {
      const found = readThing(join(this.folder, name));
      return found !== undefined && folders.some((folder) => isInside(folder, found.path)) ? [found] : [];
    });
  }

  /** With its texts, as far as they are kept: they only serve to show what changed since. */
  add(thing: TrustedThing, texts: Texts = {}): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, nameOf(thing));
    replace(textsFile(path), { digest: thing.digest, texts });
    replace(path, thing);
  }

  /** The texts of the files that were trusted, by their paths. Empty where none are kept. */
  textsOf(thing: TrustedThing): Texts {
    const value = readJson(textsFile(join(this.folder, nameOf(thing))));
    const { digest, texts } = Object(value) as { readonly digest?: unknown; readonly texts?: unknown };
    if (digest !== thing.digest || typeof texts !== "object" || texts === null) return {};
    return Object.fromEntries(
      Object.entries(texts).filter((each): each is [string, string] => typeof each[1] === "string"),
    );
  }

  remove(thing: Thing): void {
    const path = join(this.folder, nameOf(thing));
    for (const each of [path, textsFile(path)]) rmSync(each, { force: true });
  }
}

/** A file's text by its path. */
export type Texts = Readonly<Record<string, string>>;

/** Beside the thing and not in it: whether something is trusted is asked at every start. */
function textsFile(path: string): string {
  return path.replace(/\.json$/, ".texts");
}

function replace(path: string, value: object): void {
  const made = `${path}.${process.pid}.new`;
  writeFileSync(made, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(made, path);
}

function nameOf({ kind, path, roots = [] }: Pick<Thing, "kind" | "path" | "roots">): string {
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

/** Undefined where there is none, or one that cannot be read as one: then nothing is trusted. */
function readThing(path: string): TrustedThing | undefined {
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

function isThing(value: unknown): value is TrustedThing {
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

/** The files that are not as they were when the thing was trusted, by their paths. */
export function filesChangedSince(before: Thing, now: Thing): readonly FileChange[] {
  const old = new Map(before.files.map((file) => [file.path, file]));
  const fresh = new Map(now.files.map((file) => [file.path, file]));
  const all = [...new Set([...old.keys(), ...fresh.keys()])].sort((one, other) => (one < other ? -1 : 1));
  return all.flatMap((path) => {
    const change = changeOf(old.get(path), fresh.get(path));
    return change === undefined ? [] : [{ path, change }];
  });
}

function changeOf(old: ThingFile | undefined, now: ThingFile | undefined): FileChange["change"] | undefined {
  if (old === undefined) return "new";
  if (now === undefined) return "gone";
  if (old.sha256 !== now.sha256) return "changed";
  if (old.executable === undefined || old.executable === now.executable) return undefined;
  return now.executable === true ? "executable" : "not executable";
}

/** What is not as it was when it was trusted: clauses about files. */
export function changesSince(before: Thing, now: Thing): readonly string[] {
  const changes = filesChangedSince(before, now).map(({ path, change }) => `"${path}" ${CHANGES[change]}`);
  // The digest of a skill holds more than the content of its files.
  return changes.length === 0 && before.digest !== now.digest ? ["what may be executed has changed"] : changes;
}
