import type { Access } from "../../contract/tool.ts";
import type { Permission } from "../../protocol/call.ts";
import type { CallFacts, NamedCommand } from "../facts.ts";

/** The permissions that a call needs. */
export interface NeededPermissions {
  /** Certain: declared by the tool, or shown by the touched paths and the words of its commands. */
  readonly uses: ReadonlySet<Permission>;
  /** Possible: what unknown programs may do. */
  readonly may: ReadonlySet<Permission>;
}

// oxfmt-ignore
export const OF_ACCESS = {
  read:   "fs.read",
  list:   "fs.read",
  write:  "fs.write",
  delete: "fs.delete",
} as const satisfies Record<Access, Permission>;

/** What any program may do in a sandbox without network. Reading files is certain. */
export const UNKNOWN_MAY = ["fs.write", "fs.delete", "git.write"] as const satisfies readonly Permission[];

/** Permissions in `uses` are not repeated in `may`. */
export function permissionsOf(call: CallFacts): NeededPermissions {
  const { tool, touches, commands = [] } = call;
  const uses = new Set<Permission>(tool.required_permissions);
  const may = new Set<Permission>();
  for (const { access } of touches) uses.add(OF_ACCESS[access]);
  for (const { needs, network } of commands) {
    if (network) uses.add("net.connect");
    for (const each of needs.uses) uses.add(each);
    for (const each of needs.may) may.add(each);
  }
  if (runsUnnamed(call)) {
    uses.add("fs.read");
    for (const each of UNKNOWN_MAY) may.add(each);
  }
  for (const each of uses) may.delete(each);
  return { uses, may };
}

/** Whether a call runs a program without naming a command: a script, whose effects are unknown. */
export function runsUnnamed({ tool, commands = [] }: CallFacts): boolean {
  const { required_permissions, side_effects } = tool;
  return commands.length === 0 && required_permissions.includes("proc.exec") && side_effects.includes("files");
}

const NO_NEEDS: NeededPermissions = { uses: new Set(), may: new Set() };

/** Placeholder commands for checks that do not depend on permissions. */
export function withoutNeeds(commands: readonly NamedCommand[] = []): readonly NamedCommand[] {
  return commands.map(({ parsed, verdict, read_only, folder }) => {
    return { parsed, verdict, read_only, folder, network: false, needs: NO_NEEDS, places: [] };
  });
}
