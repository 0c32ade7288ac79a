import type { GrantOffer, GrantPattern } from "../protocol/approval.ts";
import type { PolicyRule } from "../protocol/configuration.ts";
import { asGlob } from "../paths/as-glob.ts";
import { withoutOptionsBefore } from "../shell/program-options.ts";
import { commonFolder, onlyCommand, onlyHost, onlyPath } from "./call-patterns.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
import { boundsOf, describeBounds, isWithin } from "./command-bounds.ts";
import { countChanged, showsHidden } from "./cautions.ts";
import { findLaterPlace } from "./check-path.ts";
import type { CallFacts, NamedCommand, Places } from "./facts.ts";
import { MANY_FILES } from "./profiles.ts";
import { toRule } from "./grant-rule.ts";
import type { CommandGrant, RuledPattern, WiderPattern } from "./grant-rule.ts";
import { findRule } from "./rules.ts";
import { isChange } from "./verdict.ts";

/** What a grant is held against, beside the facts of the call. */
export interface GrantGround {
  /** Of the call, without what the files hold. */
  readonly call_digest: string;
  readonly workspace: Places;
}

/**
 * What a person may grant for longer than this one call, the narrowest first (spec 3, Approval). The first is always
 * `exact`. `words` leave out for how long, which the scope of the answer says; names in them are as they were given.
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
  const words = `any \`${tool}\` to \`${domain}\`, whatever it sends`;
  return [{ offer: "domain", words, pattern: { kind: "domain", tool, domain } }];
}

function pathOffers(call: CallFacts, roots: readonly string[]): readonly GrantOffer[] {
  const { name: tool } = call.tool;
  const deletes = call.touches.some(({ access }) => access === "delete");
  const more = deletes ? { deletes } : {};
  const path = onlyPath(call);
  const folder = commonFolder(call, roots);
  const also = deletes ? ", deleting included" : "";
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
  const words = `any \`${name}\`, with whatever arguments`;
  return [{ offer: "tool", words, pattern: { kind: "tool", tool: name } }];
}

/**
 * Whether a grant lets a call through that would be asked for: all of its commands, paths and addresses have to be
 * meant. Rules' own matcher decides, so a pattern means the same in both.
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

/** What only a yes to the very call is good for: no pattern says how much more it would let through. */
function isExactOnly(call: CallFacts, workspace: Places): boolean {
  const changesLater = call.touches.some(({ access, real }) => isChange(access) && findLaterPlace(real, workspace));
  const asksLater = call.commands?.some(({ later }) => later) === true;
  return changesLater || asksLater || call.touches.some(showsHidden) || countChanged(call) > MANY_FILES;
}

/** Whether the pattern is of the kind that this call's dangers are of. */
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
      // A high risk without a deletion is one that the paths do not tell of.
      const isTold = PATH_CLASSES.has(call.tool.permission_class) && (deletes || call.risk !== "high");
      return commands.length + addresses.length === 0 && isTold && (pattern.deletes === true || !deletes);
    }
    case "domain":
      return commands.length + touches.length === 0;
    case "tool":
      return commands.length + addresses.length + touches.length === 0;
  }
}

/** The classes of tools that do to paths what they are called for, and nothing beyond. */
const PATH_CLASSES: ReadonlySet<string> = new Set(["file", "generic"]);

/** Remembered, not state: rules are compiled once for each pattern that is kept. */
const configurations = new WeakMap<RuledPattern, { readonly rules: PolicyRule[] }>();

function configurationOf(pattern: RuledPattern): { readonly rules: PolicyRule[] } {
  const known = configurations.get(pattern);
  if (known !== undefined) return known;
  const made = { rules: [toRule(pattern)] };
  configurations.set(pattern, made);
  return made;
}
