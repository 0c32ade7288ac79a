import { fstatSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { isatty } from "node:tty";
import { isRunByCall } from "@autonous/runtime";

/** Who sits at this machine, as it is put on record with an answer. */
export function personName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`; // a container may run as a number that has no name
  }
}

/**
 * Why a yes that is given here would not be a person's; undefined where one can see the question and type the answer. Input
 * has to be the terminal of this session: another terminal can be opened by its name, and typed into by whoever made it.
 */
export function whyNoPerson(): string | undefined {
  if (isRunByCall()) return "a command that an agent runs cannot answer for a person";
  if (!isatty(0)) return "standard input is not a terminal";
  if (!isatty(2)) return "standard error, where the question is shown, is not a terminal";
  return isOwnTerminal() ? undefined : "standard input is not the terminal of this session";
}

/** `/dev/tty`: the terminal of the session, by whatever name. */
const DEV_TTY = 0x05_00;
/** Of the fields behind the name of the program in `/proc/self/stat`. */
const TTY_NR = 4;

function isOwnTerminal(): boolean {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const own = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[TTY_NR]) >>> 0;
  const { rdev } = fstatSync(0);
  return own !== 0 && (rdev === own || rdev === DEV_TTY);
}
