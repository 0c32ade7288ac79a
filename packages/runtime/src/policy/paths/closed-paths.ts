import type { PlaceJudge } from "../../contract/processes.ts";
import type { Permission } from "../../protocol/call.ts";
import { forOnePath, layersOf, parentOf, ruleAt, ruleForPath } from "../rules/command-rules.ts";
import type { CallFacts, DecisionSettings, WorkspaceContext } from "../facts.ts";
import { permissionsOf, withoutNeeds } from "../commands/needed-permissions.ts";
import type { Use } from "../commands/program-roles.ts";
import { findRuleAmong, rulesOf } from "../rules/rules.ts";
import type { CompiledRule } from "../rules/rules.ts";

/** The user's answer to the call. */
interface CallApproval {
  readonly confirmed: boolean;
}

/** The rules of one layer that can close paths to this call's commands. */
interface ClosingRules {
  readonly rules: readonly CompiledRule[];
  /** Closed for every path: by a rule on a permission that programs may use without showing it in their arguments. */
  readonly permissions: ReadonlySet<Permission>;
  readonly ruleFor: (real: string, use: Use) => CompiledRule | undefined;
}

/** What rules close to the commands of a call. */
export interface ClosedPaths extends PlaceJudge {
  /** Nothing below the roots may be changed. */
  readonly read_only: boolean;
}

/**
 * What rules close to the commands of a call, enforced by the sandbox because arguments do not show every access. A
 * rule that asks closes too, unless the user approved this call. Undefined if rules close nothing.
 */
export function closedPaths(
  call: CallFacts,
  { roots }: Pick<WorkspaceContext, "roots">,
  settings: DecisionSettings,
  { confirmed }: CallApproval,
): ClosedPaths | undefined {
  const { may } = permissionsOf(call);
  const closes = ({ effect }: CompiledRule): boolean => effect === "deny" || (effect === "confirm" && !confirmed);
  const layers = layersOf({ settings }).map(({ layer }): ClosingRules => {
    const rules = rulesOf(layer.configuration).filter((rule) => rule.concerns(call));
    const permissions = UNSEEN.filter((permission) => isClosed(permission, { rules, call, may, roots, closes }));
    const onPaths = rules.filter(({ pathNames }) => pathNames !== undefined);
    return { rules: onPaths, permissions: new Set(permissions), ruleFor: findersFor(call, onPaths, roots) };
  });
  const closing = layers.filter(({ rules, permissions }) => permissions.size > 0 || rules.some(closes));
  if (closing.length === 0) return undefined;
  const isClosedFor = (real: string, use: Use): boolean =>
    closing.some(({ ruleFor, permissions }) => {
      const rule = ruleFor(real, use);
      if (rule !== undefined) return closes(rule);
      return use !== "read" && permissions.has(use === "delete" ? "fs.delete" : "fs.write");
    });
  const isReadOnly = (real: string): boolean => isClosedFor(real, "write") || isClosedFor(real, "delete");
  const isGitClosed = closing.some(({ permissions }) => permissions.has("git.write"));
  const all = closing.flatMap(({ rules }) => rules);
  const mayOpenBelow = (folder: string): boolean =>
    all.some((rule) => !closes(rule) && rule.mayCoverBelow?.(folder, roots) === true);
  const isEverywhere = closing.some(({ permissions }) => permissions.has("fs.write") || permissions.has("fs.delete"));
  return {
    mayCloseBelow: (folder) =>
      isEverywhere || all.some((rule) => closes(rule) && rule.mayCoverBelow?.(folder, roots) === true),
    key: keyOf(call, closing, confirmed),
    read_only: roots.every((root) => isReadOnly(root) && !mayOpenBelow(root)),
    forbids: (real, isFolder) =>
      !(isFolder && mayOpenBelow(real)) && isClosedFor(real, "read") && isClosedFor(real, "write"),
    judge(real, isFolder) {
      // If something in a folder may be open, its entries are checked one by one.
      if (isFolder && mayOpenBelow(real)) return undefined;
      if (isClosedFor(real, "read")) return "hide";
      return (isGitClosed && /\/\.git$/i.test(real)) || isReadOnly(real) ? "read_only" : undefined;
    },
  };
}

/** Runs for every file of a tree, folder by folder, so the result for the last folder is cached. */
function findersFor(
  call: CallFacts,
  rules: readonly CompiledRule[],
  roots: readonly string[],
): ClosingRules["ruleFor"] {
  const facts = forOnePath(call, rules);
  const hasPermissions = rules.some(({ permission }) => permission !== undefined);
  const known: Record<string, { readonly folder: string; readonly rule: CompiledRule | undefined }> = {};
  return (real, given) => {
    const use = hasPermissions ? given : "read";
    const asked = { call: facts, use, rules, roots };
    const own = ruleAt({ real }, asked);
    if (own !== undefined || roots.includes(real)) return own;
    const folder = parentOf(real);
    if (known[use]?.folder !== folder) {
      known[use] = { folder, rule: roots.includes(folder) ? undefined : ruleForPath({ real: folder }, asked) };
    }
    return known[use]?.rule;
  };
}

function keyOf(
  { tool, commands = [], chat, user, risk }: CallFacts,
  closing: readonly ClosingRules[],
  confirmed: boolean,
) {
  const rules = closing.map((layer) => [layer.rules.map(({ id }) => id), [...layer.permissions]]);
  const namesCommand = closing.some((layer) => layer.rules.some((rule) => rule.namesCommand));
  const texts = namesCommand ? commands.map(({ parsed }) => parsed.commands.map(({ words }) => words)) : [];
  return JSON.stringify([tool.name, chat, user, risk, confirmed, rules, texts]);
}

/** What unknown programs may do, and what a sandbox can deny them. */
const UNSEEN = ["fs.write", "fs.delete", "git.write"] as const satisfies readonly Permission[];

interface PermissionQuery {
  readonly rules: readonly CompiledRule[];
  readonly call: CallFacts;
  readonly may: ReadonlySet<Permission>;
  readonly roots: readonly string[];
  readonly closes: (rule: CompiledRule) => boolean;
}

/** Whether rules without a path deny a permission that the call's programs may use. */
function isClosed(permission: Permission, { rules, call, may, roots, closes }: PermissionQuery): boolean {
  if (!may.has(permission)) return false;
  const speaking = rules.filter((rule) => rule.permission === permission && rule.pathNames === undefined);
  const tool = { ...call.tool, required_permissions: [permission] };
  const asked = { ...call, tool, touches: [], commands: withoutNeeds(call.commands) };
  const rule = findRuleAmong(speaking, asked, roots);
  return rule !== undefined && closes(rule);
}
