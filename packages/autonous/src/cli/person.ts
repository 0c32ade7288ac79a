import { userInfo } from "node:os";

/** Who sits at this machine, as it is put on record with an answer. */
export function personName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`; // a container may run as a number that has no name
  }
}
