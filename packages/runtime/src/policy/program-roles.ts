import type { SimpleCommand } from "../shell/parsed-shell.ts";

/** What a command does to a path that its words name. */
export type Use = "read" | "write" | "delete";

/** What a program does to the paths among its operands. */
export interface ProgramRole {
  readonly operands: readonly Use[];
  /** To the last of several. */
  readonly last?: readonly Use[];
  /** How many operands come first that are not paths: the pattern of `grep`. */
  readonly skip?: number;
  /** Touches nothing but the paths among its words, as long as only `PLAIN_OPTION`s are given. */
  readonly isFlat: boolean;
}

const ALL: readonly Use[] = ["read", "write", "delete"];
/** A program that is not in the table may do anything to what it is given. */
export const UNKNOWN_ROLE: ProgramRole = { operands: ALL, isFlat: false };

const READ: readonly Use[] = ["read"];
const WRITE: readonly Use[] = ["write"];
/** Deleting and moving also change the folder that holds it. */
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

/** Options that let a flat program touch no more than its words name. */
const PLAIN_OPTION =
  /^-(?:[1abAEFhilnopqstuvwx]+|[nc]?\d+|-(?:color|colour|help|version|lines|bytes|parents)(?:=.*)?)$/;

/** By the program's name, wherever it lies. */
export function roleOf({ words: [name] }: Pick<SimpleCommand, "words">): ProgramRole {
  return name === undefined || name.isDynamic ? UNKNOWN_ROLE : (ROLES.get(baseName(name.value)) ?? UNKNOWN_ROLE);
}

export function baseName(program: string): string {
  return program.slice(program.lastIndexOf("/") + 1);
}

/**
 * Whether a command touches nothing but the paths that its words name, so that judging the words is judging the
 * command. A program by its path may be another one of the same name.
 */
export function isToldByWords(command: SimpleCommand): boolean {
  const { words, redirections, assignments, folder, isCarrier } = command;
  const [name, ...rest] = words;
  if (isCarrier || folder.path === undefined) return false;
  if ([...words, ...redirections.map(({ target }) => target)].some(({ isDynamic }) => isDynamic)) return false;
  if (name === undefined) return true;
  if (assignments.length > 0) return false;
  if (name.value.includes("/") || !roleOf(command).isFlat) return false;
  return rest.every(({ value }) => !/^-./.test(value) || value === "--" || PLAIN_OPTION.test(value));
}
