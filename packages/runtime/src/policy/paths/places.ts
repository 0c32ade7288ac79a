import { compileGlob } from "../../paths/glob.ts";
import type { Glob } from "../../paths/glob.ts";
import { isInside } from "../../paths/inside.ts";

/**
 * A row of a table of places. `.ssh` is a name anywhere in a path, `.config/gh` consecutive names, `~/.npmrc` is in the
 * home folder, `/etc/shadow` is an absolute path. Everything below a place belongs to it.
 * The last name may be `*.pem` or `id_rsa*`; those before it may be any glob, and `**` any number of names.
 */
export interface PlaceRow {
  /** The reason in messages. */
  readonly why: string;
  readonly paths: readonly string[];
  /** Name endings that are excluded although the last name matches. */
  readonly except?: readonly string[];
  /** Names directly below that do not belong to the place. */
  readonly open?: readonly string[];
  /** Only the place itself, nothing below it. */
  readonly exact?: boolean;
  /** Folder names below which, at any depth, the place is ignored: a package manager writes their content. */
  readonly outside?: readonly string[];
  /** No program executes it, so a command may create one, as package installers do. It is still closed. */
  readonly inert?: boolean;
  /**
   * Its own program rewrites it in normal use, so a sandbox leaves it writable and the result is checked afterwards.
   */
  readonly rewritten?: boolean;
}

export interface Place {
  /** As written in the table. */
  readonly path: string;
  readonly why: string;
  /** The most distinctive name, folded: the first one; for an absolute path (`/etc/cron.d`) the last one. */
  readonly telling: string;
  readonly rewritten: boolean;
}

export interface PlaceTable {
  /** The place that contains a folded absolute path. Only names from index `from` on can complete a match. */
  find(path: string, from: number, home: string): Place | undefined;
  /** Whether a folded name can complete a match: a fast filter, since most names cannot. */
  isSuspicious(name: string): boolean;
}

interface CompiledPlace extends Place {
  readonly inHome: boolean;
  /** Compiled on first use: most processes meet few of the places. */
  globs(): { readonly place: Glob; readonly open: Glob | undefined };
  readonly except: readonly string[];
  readonly outside: readonly string[];
}

/** Places by the shape of their last name. A path is scanned once, name by name, against these. */
interface Index {
  readonly byName: Map<string, CompiledPlace[]>;
  /** By the ending with its dot: `.pem`. */
  readonly byEnding: Map<string, CompiledPlace[]>;
  /** By the code of the first character, then by the whole beginning. */
  readonly byBeginning: Map<number, Map<string, CompiledPlace[]>>;
}

const NO_PLACES: readonly CompiledPlace[] = [];

export function compilePlaces(rows: readonly PlaceRow[]): PlaceTable {
  const index: Index = { byName: new Map(), byEnding: new Map(), byBeginning: new Map() };
  for (const row of rows) for (const path of row.paths) addPlace(index, path, row);
  const candidatesOf = (name: string): readonly CompiledPlace[] => candidatesFor(name, index);
  return {
    find: (path, from, home) => findPlace(path, from, home, candidatesOf),
    isSuspicious: (name) => candidatesOf(name).length > 0,
  };
}

function addPlace(index: Index, path: string, row: PlaceRow): void {
  const folded = path.toLowerCase();
  const inHome = folded.startsWith("~/");
  // A leading "/" or "~/" anchors the first name; without one it matches at any depth.
  const pattern = inHome ? folded.slice(2) : folded.startsWith("/") ? folded.slice(1) : `**/${folded}`;
  const name = pattern.slice(pattern.lastIndexOf("/") + 1);
  const place: CompiledPlace = {
    path,
    telling: folded.startsWith("/") ? name : folded.replace(/\/.*/, ""),
    why: row.why,
    inHome,
    globs: once(() => ({
      place: compileGlob(row.exact === true ? pattern : `${pattern}/**`),
      open: row.open === undefined ? undefined : compileGlob(`${pattern}/{${row.open.join(",")}}/**`),
    })),
    except: row.except ?? [],
    outside: row.outside ?? [],
    rewritten: row.rewritten === true,
  };
  const star = name.indexOf("*");
  if (star < 0) {
    add(index.byName, name, place);
  } else if (star === 0) {
    add(index.byEnding, name.slice(1), place);
  } else {
    const first = name.charCodeAt(0);
    const beginnings = index.byBeginning.get(first) ?? new Map<string, CompiledPlace[]>();
    index.byBeginning.set(first, beginnings);
    add(beginnings, name.slice(0, star), place);
  }
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function add(map: Map<string, CompiledPlace[]>, key: string, place: CompiledPlace): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [place]);
  else list.push(place);
}

function candidatesFor(name: string, index: Index): readonly CompiledPlace[] {
  let found: readonly CompiledPlace[] = index.byName.get(name) ?? NO_PLACES;
  const dot = name.lastIndexOf(".");
  const ending = dot < 0 ? undefined : index.byEnding.get(name.slice(dot));
  if (ending !== undefined) found = [...found, ...ending];
  const beginnings = index.byBeginning.get(name.charCodeAt(0));
  if (beginnings === undefined) return found;
  for (const [beginning, places] of beginnings) {
    if (name.startsWith(beginning)) found = [...found, ...places];
  }
  return found;
}

function findPlace(
  path: string,
  from: number,
  home: string,
  candidatesOf: (name: string) => readonly CompiledPlace[],
): Place | undefined {
  // A place is searched in the whole path, so once is enough: a path that repeats one name stays linear.
  let refuted: Set<CompiledPlace> | undefined;
  for (let start = from; start < path.length;) {
    const slash = path.indexOf("/", start);
    const end = slash < 0 ? path.length : slash;
    const name = path.slice(start, end);
    for (const place of candidatesOf(name)) {
      if (refuted?.has(place) === true || place.except.some((ending) => name.endsWith(ending))) continue;
      if (holds(place, path, home)) return place;
      (refuted ??= new Set()).add(place);
    }
    start = end + 1;
  }
  return undefined;
}

function holds(place: CompiledPlace, path: string, home: string): boolean {
  if (place.inHome && !isInside(home, path)) return false;
  if (place.outside.some((name) => path.includes(`/${name}/`))) return false;
  const below = (place.inHome ? path.slice(home.length) : path).replace(/^\/+/, "");
  const globs = place.globs();
  return globs.place.matches(below) && globs.open?.matches(below) !== true;
}
