import { hash } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { canonicalJson, headsFolder, isInside, NotAFileError, readOwnText } from "@autonous/runtime";

/** Something that came with a workspace, as it is now. */
export interface Thing {
  readonly kind: "configuration" | "skill" | "module";
  /** Its real path. */
  readonly path: string;
  /** Of its content. */
  readonly digest: string;
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
  /**
   * Of a configuration: the folders that it was trusted for. What it allows holds for all of them, so for others it is
   * asked about again.
   */
  readonly roots?: readonly string[];
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

  add(thing: TrustedThing): void {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, nameOf(thing));
    const made = `${path}.${process.pid}.new`;
    writeFileSync(made, `${JSON.stringify(thing, null, 2)}\n`, { mode: 0o600 });
    renameSync(made, path);
  }

  remove(thing: Thing): void {
    rmSync(join(this.folder, nameOf(thing)), { force: true });
  }
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
  let value: unknown;
  try {
    value = JSON.parse(readOwnText(path));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof NotAFileError) return undefined;
    throw error;
  }
  return isThing(value) ? value : undefined;
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

/** What is not as it was when it was trusted: clauses about files. */
export function changesSince(before: Thing, now: Thing): readonly string[] {
  const old = new Map(before.files.map(({ path, sha256 }) => [path, sha256]));
  const fresh = new Map(now.files.map(({ path, sha256 }) => [path, sha256]));
  const all = [...new Set([...old.keys(), ...fresh.keys()])].sort((one, other) => (one < other ? -1 : 1));
  const changes = all.flatMap((path) => {
    if (!old.has(path)) return [`"${path}" is new`];
    if (!fresh.has(path)) return [`"${path}" is gone`];
    return old.get(path) === fresh.get(path) ? [] : [`"${path}" has changed`];
  });
  // The digest of a skill holds more than the content of its files.
  return changes.length === 0 && before.digest !== now.digest ? ["what may be executed has changed"] : changes;
}
