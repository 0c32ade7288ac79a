import type { Access } from "../contract/tool.ts";
import type { Permission } from "../protocol/call.ts";
import type { CallFacts, NamedCommand } from "./facts.ts";

/** What a call needs permission for. */
export interface NeededPermissions {
  /** It does this, by what its tool declares, what it touches and what its words say. */
  readonly uses: ReadonlySet<Permission>;
  /** Programs of which nothing is known may do this. */
  readonly may: ReadonlySet<Permission>;
}

// oxfmt-ignore
export const OF_ACCESS = {
  read:   "fs.read",
  list:   "fs.read",
  write:  "fs.write",
  delete: "fs.delete",
} as const satisfies Record<Access, Permission>;

/** What any program may do in a sandbox without network. That it reads files is certain. */
export const UNKNOWN_MAY = ["fs.write", "fs.delete", "git.write"] as const satisfies readonly Permission[];

/** What is in `uses` is not in `may`. */
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

/** Whether a call runs a program without naming a command: a script, of which nothing is known. */
export function runsUnnamed({ tool, commands = [] }: CallFacts): boolean {
  const { required_permissions, side_effects } = tool;
  return commands.length === 0 && required_permissions.includes("proc.exec") && side_effects.includes("files");
}

const NO_NEEDS: NeededPermissions = { uses: new Set(), may: new Set() };

/** Commands for a question that is about something else than what they need. */
export function withoutNeeds(commands: readonly NamedCommand[] = []): readonly NamedCommand[] {
  return commands.map(({ parsed, verdict, read_only, folder }) => {
    return { parsed, verdict, read_only, folder, network: false, needs: NO_NEEDS, places: [] };
  });
}
