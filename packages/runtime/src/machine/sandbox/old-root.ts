import { lstatSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

/** File systems of the kernel, which contain no user data, and those that an access would mount. */
// oxfmt-ignore
const KERNEL_TYPES: ReadonlySet<string> = new Set([
  "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "bpf", "tracefs", "debugfs", "securityfs", "pstore", "efivarfs", "fusectl", "configfs",
  "hugetlbfs", "binfmt_misc", "rpc_pipefs", "nsfs", "selinuxfs", "autofs",
]);

/**
 * Paths of the machine's writable mounts. bubblewrap creates missing mount points, and meanwhile a link in a workspace
 * can lead it to the real machine (`/oldroot`): so these are made read-only for it before it resolves any name below a
 * root.
 */
export function writableMounts(): readonly string[] {
  const found = new Set<string>();
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [, , , , place, flags, ...rest] = line.split(" ");
    if (place === undefined || flags === undefined || /^ro(?:,|$)/.test(flags)) continue;
    const path = place.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
    if (!KERNEL_TYPES.has(rest[rest.indexOf("-") + 1] ?? "") && isReachable(path)) found.add(path);
  }
  return [...found];
}

/** Whether the sandbox program can reach it: in its user namespace root has no rights in folders of other users. */
function isReachable(path: string): boolean {
  if (path === "/") return true;
  try {
    lstatSync(path);
    for (let above = dirname(path); above !== "/"; above = dirname(above)) {
      const { mode, uid, gid } = lstatSync(above);
      const bit = uid === process.geteuid?.() ? 0o100 : (process.getgroups?.() ?? []).includes(gid) ? 0o010 : 0o001;
      if ((mode & bit) === 0) return false;
    }
    return true;
  } catch {
    return false; // gone, or not accessible to us
  }
}
