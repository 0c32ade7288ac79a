import { fstatSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { isatty } from "node:tty";
import { isRunByCall } from "@autonous/runtime/internal";

/** The user's name, as recorded with an answer. */
export function personName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`; // a container may run as a uid without a name
  }
}

/**
 * Why a yes given here could not be trusted as a person's; undefined if a person can see the question and answer. Input
 * has to be the terminal of this session: any other terminal can be opened by name, and its creator can type into it.
 */
export function whyNoPerson(): string | undefined {
  if (isRunByCall()) return "a command that an agent runs cannot answer for a person";
  if (!isatty(0)) return "standard input is not a terminal";
  if (!isatty(2)) return "standard error, where the question is shown, is not a terminal";
  return isOwnTerminal() ? undefined : "standard input is not the terminal of this session";
}

/** The device number of `/dev/tty`, the terminal of the session. */
const DEV_TTY = 0x05_00;
/** The index among the fields after the program name in `/proc/self/stat`. */
const TTY_NR = 4;

function isOwnTerminal(): boolean {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const own = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[TTY_NR]) >>> 0;
  const { rdev } = fstatSync(0);
  return own !== 0 && (rdev === own || rdev === DEV_TTY);
}
