import type { GrantOffer, GrantPattern } from "../../protocol/approval.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { asGlob } from "../../paths/as-glob.ts";
import { withoutOptionsBefore } from "../../shell/programs/program-options.ts";
import { commonFolder, onlyCommand, onlyHost, onlyPath } from "./call-patterns.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
import { boundsOf, describeBounds, isWithin } from "./command-bounds.ts";
import { countChanged, showsHidden } from "../cautions.ts";
import { findLaterPlace } from "../paths/check-path.ts";
import type { CallFacts, NamedCommand, Places } from "../facts.ts";
import { MANY_FILES } from "../profiles.ts";
import { toRule } from "./grant-rule.ts";
import type { CommandGrant, RuledPattern, WiderPattern } from "./grant-rule.ts";
import { findRule } from "./rules.ts";
import { isChange } from "../verdict.ts";

/** What a grant is compared with, in addition to the facts of the call. */
export interface GrantGround {
  /** Digest of the call, without file contents. */
  readonly call_digest: string;
  readonly workspace: Places;
}

/**
 * What a user may grant beyond this one call, narrowest first (spec 3, Approval). The first is always `exact`. `words`
 * do not mention the duration, which is the scope of the answer; names in them are as given.
 */
export function offersFor(call: CallFacts, ground: GrantGround): readonly GrantOffer[] {
  const exact: GrantOffer = {
    offer: "exact",
    words: "exactly this call again",
    pattern: { kind: "exact", call_digest: ground.call_digest },
  };
  const wider = makeOffers(call, ground.workspace).filter(({ pattern }) => covers(pattern, call, ground));
  return [exact, ...wider];
}

function makeOffers(call: CallFacts, workspace: Places): readonly GrantOffer[] {
  const { commands = [], addresses = [], touches } = call;
  if (commands.length > 0) return commandOffers(call, commands, workspace);
  if (addresses.length > 0) return domainOffers(call);
  return touches.length > 0 ? pathOffers(call, workspace.roots) : toolOffers(call);
}

function commandOffers(call: CallFacts, commands: readonly NamedCommand[], workspace: Places): readonly GrantOffer[] {
  const only = onlyCommand(call);
  const bounds = only === undefined ? undefined : boundsOf(only.command, only.named, workspace);
  if (only === undefined || bounds === undefined) return [];
  const network = commands.some((each) => each.network);
  const risky = commands.some(({ verdict }) => verdict.findings.length > 0);
  const command = bounds.words.map(({ word = "*" }) => word).join(" ");
  const [plain = only.command.words] = withoutOptionsBefore(only.command.words);
  if (isCarrierPattern(`${plain.map(({ value }) => value).join(" ")} *`)) return [];
  const words = `${describeBounds(bounds)}${network ? " with the network" : ""}, with any options that change only its output`;
  const tool = call.tool.name;
  return [
    { offer: "command", words, pattern: { kind: "command", tool, command, network, ...(risky && { risky }), bounds } },
  ];
}

function domainOffers(call: CallFacts): readonly GrantOffer[] {
  const { name: tool } = call.tool;
  const domain = onlyHost(call);
  if (domain === undefined) return [];
  const words = `any \`${tool}\` to \`${domain}\`, with any content`;
  return [{ offer: "domain", words, pattern: { kind: "domain", tool, domain } }];
}

function pathOffers(call: CallFacts, roots: readonly string[]): readonly GrantOffer[] {
  const { name: tool } = call.tool;
  const deletes = call.touches.some(({ access }) => access === "delete");
  const more = deletes ? { deletes } : {};
  const path = onlyPath(call);
  const folder = commonFolder(call, roots);
  const also = deletes ? ", including deletion" : "";
  const offers: GrantOffer[] = [];
  if (path !== undefined) {
    const pattern: GrantPattern = { kind: "path", tool, path: asGlob(path), ...more };
    offers.push({ offer: "path", words: `any \`${tool}\` on \`${path}\`${also}`, pattern });
  }
  if (folder !== undefined) {
    const pattern: GrantPattern = { kind: "path", tool, path: `${asGlob(folder)}/**`, ...more };
    offers.push({ offer: "folder", words: `any \`${tool}\` below \`${folder}\`${also}`, pattern });
  }
  return offers;
}

function toolOffers({ tool: { name, permission_class } }: CallFacts): readonly GrantOffer[] {
  if (permission_class !== "generic") return [];
  const words = `any \`${name}\`, with any arguments`;
  return [{ offer: "tool", words, pattern: { kind: "tool", tool: name } }];
}

/**
 * Whether a grant covers a call that needs approval: it must match all of its commands, paths and addresses. Uses the
 * matcher of the rules, so a pattern means the same in both.
 */
export function covers(pattern: GrantPattern, call: CallFacts, ground: GrantGround): boolean {
  if (pattern.kind === "exact") return pattern.call_digest === ground.call_digest;
  const { workspace } = ground;
  if (isExactOnly(call, workspace) || !speaksOfAll(pattern, call)) return false;
  if (pattern.kind === "command") return isBoundCommand(pattern, call, workspace);
  return findRule(call, workspace.roots, configurationOf(pattern)) !== undefined;
}

function isBoundCommand(pattern: CommandGrant, { tool, commands = [] }: CallFacts, workspace: Places): boolean {
  const { bounds } = pattern;
  if (bounds === undefined || tool.name !== pattern.tool) return false;
  return commands.length > 0 && commands.every((each) => isWithin(bounds, each, workspace));
}

/** Calls that can only be approved one by one: a pattern would not show how much more it allows. */
function isExactOnly(call: CallFacts, workspace: Places): boolean {
  const changesLater = call.touches.some(({ access, real }) => isChange(access) && findLaterPlace(real, workspace));
  const asksLater = call.commands?.some(({ later }) => later) === true;
  return changesLater || asksLater || call.touches.some(showsHidden) || countChanged(call) > MANY_FILES;
}

/** Whether the pattern covers the kind of danger that this call has. */
function speaksOfAll(pattern: WiderPattern, call: CallFacts): boolean {
  const { commands = [], addresses = [], touches } = call;
  switch (pattern.kind) {
    case "command": {
      const folders = new Set(commands.map(({ folder }) => folder));
      const findings = commands.flatMap(({ verdict }) => verdict.findings);
      return (
        addresses.length === 0 &&
        touches.every(({ access, real }) => access === "list" && folders.has(real)) &&
        (pattern.network || !commands.some(({ network }) => network)) &&
        (pattern.risky === true || findings.length === 0)
      );
    }
    case "path": {
      const deletes = touches.some(({ access }) => access === "delete");
      // A high risk without a deletion has a reason that the paths do not show.
      const isTold = PATH_CLASSES.has(call.tool.permission_class) && (deletes || call.risk !== "high");
      return commands.length + addresses.length === 0 && isTold && (pattern.deletes === true || !deletes);
    }
    case "domain":
      return commands.length + touches.length === 0;
    case "tool":
      return commands.length + addresses.length + touches.length === 0;
  }
}

/** Classes of tools that only affect the paths in their arguments. */
const PATH_CLASSES: ReadonlySet<string> = new Set(["file", "generic"]);

/** A cache, not state: rules are compiled once per stored pattern. */
const configurations = new WeakMap<RuledPattern, { readonly rules: PolicyRule[] }>();

function configurationOf(pattern: RuledPattern): { readonly rules: PolicyRule[] } {
  const known = configurations.get(pattern);
  if (known !== undefined) return known;
  const made = { rules: [toRule(pattern)] };
  configurations.set(pattern, made);
  return made;
}
