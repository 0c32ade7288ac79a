import { readFileSync, readlinkSync } from "node:fs";

let own: string | undefined;

/**
 * Identifies this process to others: pid, start time, boot and pid namespace, joined by ".". The pid alone is not
 * enough, because the system reuses it.
 */
export function ownProcess(): string {
  return (own ??= [
    process.pid,
    startOf(process.pid) ?? "unknown",
    readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""),
  ].join("."));
}

/** unseen: a process of another pid namespace (such as another container) is not visible from here. */
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

/** Start time of a process in clock ticks since the boot; undefined if unknown. */
function startOf(pid: number): string | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined; // ended, or hidden: the caller uses another check
  }
  // The second field is the name in parentheses, which may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? "over" : fields[19];
}

/** Some systems hide other users' processes in /proc; sending signal 0 still detects them. */
function canBeSignalled(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
