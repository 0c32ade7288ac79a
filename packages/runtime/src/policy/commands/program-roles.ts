import type { SimpleCommand } from "../../shell/parsed-shell.ts";

/** The access of a command to a path that its words name. */
export type Use = "read" | "write" | "delete";

/** The access of a program to the paths among its operands. */
export interface ProgramRole {
  readonly operands: readonly Use[];
  /** Access to the last of several. */
  readonly last?: readonly Use[];
  /** Number of leading operands that are not paths: the pattern of `grep`. */
  readonly skip?: number;
  /** Touches nothing except the paths among its words, if all its options are `PLAIN_OPTION`s. */
  readonly isFlat: boolean;
}

const ALL: readonly Use[] = ["read", "write", "delete"];
/** A program that is not in the table may do anything to its operands. */
export const UNKNOWN_ROLE: ProgramRole = { operands: ALL, isFlat: false };

const READ: readonly Use[] = ["read"];
const WRITE: readonly Use[] = ["write"];
/** Deleting and moving also change the parent folder. */
const REMOVE: readonly Use[] = ["write", "delete"];

const ROLES = new Map<string, ProgramRole>();

function add(names: string, role: ProgramRole): void {
  for (const name of names.split(" ")) ROLES.set(name, role);
}

add("echo printf true false : pwd date sleep seq whoami id uname hostname basename dirname", {
  operands: [],
  isFlat: true,
});
add("cat head tail wc nl od hexdump strings stat md5sum sha1sum sha224sum sha256sum sha384sum sha512sum", {
  operands: READ,
  isFlat: true,
});
add("b2sum cksum cmp comm tac rev cut paste fold base64 base32 ls dir cd pushd test [ readlink realpath", {
  operands: READ,
  isFlat: true,
});
add("less more file diff column du df tree source . zcat bzcat xzcat", { operands: READ, isFlat: false });
add("grep egrep fgrep", { operands: READ, skip: 1, isFlat: true });
add("rg ag ack jq zgrep", { operands: READ, skip: 1, isFlat: false });
add("touch mkdir tee truncate mkfifo", { operands: WRITE, isFlat: true });
add("sponge chmod chown chgrp", { operands: WRITE, isFlat: false });
add("rm rmdir unlink", { operands: REMOVE, isFlat: true });
add("shred trash rimraf", { operands: REMOVE, isFlat: false });
add("cp install", { operands: READ, last: WRITE, isFlat: true });
add("ln", { operands: READ, last: WRITE, isFlat: false });
add("mv", { operands: ["read", ...REMOVE], last: WRITE, isFlat: true });

/** Options with which a flat program touches no more than its words name. */
const PLAIN_OPTION =
  /^-(?:[1abAEFhilnopqstuvwx]+|[nc]?\d+|-(?:color|colour|help|version|lines|bytes|parents)(?:=.*)?)$/;

/** By the program's name, in whatever folder it is. */
export function roleOf({ words: [name] }: Pick<SimpleCommand, "words">): ProgramRole {
  return name === undefined || name.isDynamic ? UNKNOWN_ROLE : (ROLES.get(baseName(name.value)) ?? UNKNOWN_ROLE);
}

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/**
 * Whether a command touches nothing except the paths that its words name, so that checking the words is enough. A
 * program given by its path may be a different one of the same name.
 */
export function showsAllPaths(command: SimpleCommand): boolean {
  const { words, redirections, assignments, folder, isCarrier } = command;
  const [name, ...rest] = words;
  if (isCarrier || folder.path === undefined) return false;
  if ([...words, ...redirections.map(({ target }) => target)].some(({ isDynamic }) => isDynamic)) return false;
  if (name === undefined) return true;
  if (assignments.length > 0) return false;
  if (name.value.includes("/") || !roleOf(command).isFlat) return false;
  return rest.every(({ value }) => !/^-./.test(value) || value === "--" || PLAIN_OPTION.test(value));
}
