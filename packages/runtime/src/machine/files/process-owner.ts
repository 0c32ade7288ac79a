import { readFileSync, readlinkSync } from "node:fs";

let own: string | undefined;

/**
 * This process as others find it again: number, time of start, boot and pid namespace, joined by ".". The number alone
 * would not do: it is given again to another process.
 */
export function ownProcess(): string {
  return (own ??= [
    process.pid,
    startOf(process.pid) ?? "unknown",
    readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""),
  ].join("."));
}

/** A process of another pid namespace (that of another container) cannot be seen from here. */
export type Life = "alive" | "gone" | "unseen";

export function lifeOf(owner: string): Life {
  const [pid, start, boot, namespace] = owner.split(".");
  const [, , ownBoot, ownNamespace] = ownProcess().split(".");
  if (namespace === undefined) return "unseen";
  if (boot !== ownBoot) return "gone";
  if (namespace !== ownNamespace) return "unseen";
  const running = startOf(Number(pid));
  if (running === undefined) return canBeSignalled(Number(pid)) ? "alive" : "gone";
  return running === start ? "alive" : "gone";
}

/** When a process started, in ticks since the boot; undefined where it cannot be told. */
function startOf(pid: number): string | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined; // gone already, gone while it was read, or hidden: the caller asks in another way
  }
  // The name comes second, in parentheses, and may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? "over" : fields[19];
}

/** Some systems hide the processes of other users in /proc; a signal tells that they are there. */
function canBeSignalled(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
