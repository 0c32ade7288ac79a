import type { PolicyRule } from "../../protocol/configuration.ts";
import { asGlob } from "../../paths/as-glob.ts";
import { compileGlob } from "../../paths/glob.ts";
import { isInside } from "../../paths/inside.ts";
import { commandPattern } from "./command-pattern.ts";
import type { CallFacts, NamedCommand, ResolvedTouch } from "../facts.ts";
import { foldPath } from "../paths/fold-name.ts";
import { WEIGHTS } from "./rule-weights.ts";

type RuleEffect = PolicyRule["effect"];

/** What a condition adds to the rule's weight; undefined if the call does not meet it. */
type ClosenessFor = (call: CallFacts, roots: readonly string[]) => number | undefined;

export const WILDCARD = /[*?[\]{}\\]/;
const NOT_LITERAL = /\[[^[\]]*\]|\{[^{}]*\}|[*?[\]{}\\]/g;

export function compileTool(pattern: string): { readonly weight: number; matches(name: string): boolean } {
  return { weight: WILDCARD.test(pattern) ? WEIGHTS.tools : WEIGHTS.tool, matches: compileName(pattern) };
}

function compileName(pattern: string): (name: string) => boolean {
  if (!WILDCARD.test(pattern)) return (name) => name === pattern;
  const glob = compileGlob(pattern);
  return (name) => glob.matches(name);
}

/**
 * A user or a chat: a name, or a glob in which a slash is an ordinary character, since names are not paths. Names are
 * compared after Unicode normalization. A rule that allows matches the exact case; a rule that denies or asks ignores
 * case and invisible characters, so that no other spelling of a name evades it.
 */
export function compilePerson(
  pattern: string,
  effect: RuleEffect,
): { readonly isName: boolean; matches(name: string | undefined): boolean } {
  const isName = !WILDCARD.test(pattern);
  const exact = compileSpelling(pattern, (text) => text.normalize("NFC"));
  const folded = effect === "allow" ? undefined : compileSpelling(pattern, foldPerson);
  const matches = (name: string | undefined): boolean => name !== undefined && (exact(name) || folded?.(name) === true);
  return { isName, matches };
}

/** Whether a user, chat, model or host matches a name or a glob as in rules, with exact case. */
export function matchPerson(pattern: string): (name: string | undefined) => boolean {
  return compilePerson(pattern, "allow").matches;
}

function compileSpelling(pattern: string, form: (text: string) => string): (name: string) => boolean {
  const plain = form(pattern);
  const glob = WILDCARD.test(plain) ? compileGlob(withoutSlashes(plain)) : undefined;
  return (given) => {
    const name = form(given);
    return name === plain || glob?.matches(withoutSlashes(name)) === true;
  };
}

const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/** Upper and then lower case equals full case folding, except for the final sigma, which shares its capital with σ. */
function foldPerson(text: string): string {
  return text.replace(UNSEEN, "").normalize("NFC").toUpperCase().toLowerCase().normalize("NFC").replaceAll("ς", "σ");
}

function withoutSlashes(text: string): string {
  return text.replaceAll("/", "\u0001");
}

/** The server of a tool. A deny or confirm rule applies if any reading of the name matches, an allow rule if all do. */
export function compileServer(pattern: string, effect: RuleEffect): { matches(toolName: string): boolean } {
  const isMeant = compileName(pattern);
  return {
    matches(toolName) {
      const servers = serversOf(toolName);
      if (effect !== "allow") return servers.some(isMeant);
      return servers.length > 0 && servers.every(isMeant);
    },
  };
}

const MCP = "mcp__";

/** The `a` of `mcp__a__b`. For `mcp__a__b__c` the server may be `a` or `a__b`. */
function serversOf(toolName: string): readonly string[] {
  if (!toolName.startsWith(MCP)) return [];
  const servers: string[] = [];
  for (let end = toolName.indexOf("__", MCP.length + 1); end > 0; end = toolName.indexOf("__", end + 1)) {
    servers.push(toolName.slice(MCP.length, end));
  }
  return servers;
}

/**
 * Patterns are matched against real paths. An allow rule applies if it covers every touched path, with exact case; a
 * deny or confirm rule applies if it covers any, in any case and spelling, so that no look-alike name evades it. To
 * allow a command, a rule must cover everything it touches: what its words name, and nothing else unless the rule also
 * names the command.
 */
export function compilePath(given: string, effect: RuleEffect, { namesCommand = false } = {}): ClosenessFor {
  const pattern = plainPattern(given);
  const isAbsolute = pattern.startsWith("/");
  const literal = literalLength(pattern);
  const covers = compileCover(pattern, effect);

  function closenessOf(
    { real, names }: Pick<ResolvedTouch, "real" | "names">,
    roots: readonly string[],
  ): number | undefined {
    if (names !== undefined && effect === "allow") return undefined; // a pattern may match more than is covered
    if (isAbsolute) return covers(real, names) ? closeness(literal) : undefined;
    let best: number | undefined;
    for (const root of roots) {
      if (!isInside(root, real)) continue;
      const start = root.endsWith("/") ? root.length : root.length + 1;
      if (covers(real.slice(start), names)) best = pick(effect, best, closeness(start + literal));
    }
    return best;
  }

  const isCovered = ({ untold, places }: NamedCommand, roots: readonly string[]): boolean =>
    (namesCommand || untold === undefined) && places.every((place) => closenessOf(place, roots) !== undefined);

  return ({ touches, commands = [] }, roots) => {
    if (effect === "allow" && !commands.every((each) => isCovered(each, roots))) return undefined;
    let best: number | undefined;
    for (const touch of touches) {
      const { skill_folder } = touch; // its files are relative to it
      const each = closenessOf(touch, skill_folder === undefined ? roots : [...roots, skill_folder]);
      if (each === undefined && effect === "allow") return undefined;
      if (each !== undefined) best = pick(effect, best, each);
    }
    return best;
  };
}

function plainPattern(given: string): string {
  return given.replace(/\/{2,}/g, "/").replace(/^(?:\.\/)+/, "");
}

/** Whether a pattern can match something below a folder. */
export function compileBelow(given: string): (folder: string, roots: readonly string[]) => boolean {
  const pattern = plainPattern(given);
  const covers = compileCover(pattern, "deny");
  const anything = ["*", "**"];
  if (pattern.startsWith("/")) return (folder) => covers(folder, anything);
  return (folder, roots) =>
    roots.some((root) => isInside(root, folder) && covers(folder.slice(root.length).replace(/^\//, ""), anything));
}

/** `conf/secrets` of `conf/secrets/**`; empty if the first name is a wildcard or matches at any depth. */
export function literalPath(given: string): string {
  const pattern = plainPattern(given).replace(/\/+$/, "");
  if (!pattern.includes("/")) return "";
  const names = pattern.split("/");
  const wild = names.findIndex((name) => WILDCARD.test(name));
  return names.slice(0, wild < 0 ? names.length : wild).join("/");
}

/**
 * An allow rule applies if it covers every command that would run and all their effects are known; a deny or confirm
 * rule applies if it covers any.
 */
export function compileCommand(given: string, effect: RuleEffect): ClosenessFor {
  const pattern = commandPattern(given);
  const weight = closeness(given.replaceAll("*", "").length);
  return ({ commands: named = [] }) => {
    if (effect === "allow") return named.length > 0 && named.every(pattern.covers) ? weight : undefined;
    return named.some(({ parsed }) => parsed.commands.some((each) => pattern.matches(each))) ? weight : undefined;
  };
}

/** Matched against the hosts of the addresses that a call names: an allow rule must cover all, others any. */
export function compileDomain(given: string, effect: RuleEffect): ClosenessFor {
  const isMeant = compileName(given.toLowerCase());
  const weight = closeness(literalLength(given));
  return ({ addresses = [] }) => {
    // An address that is not on the allowlist is refused anyway, whatever rules say.
    const isCovered = addresses.map(({ verdict }) => verdict.effect === "ALLOW" && isMeant(verdict.target.host));
    if (effect !== "allow") return isCovered.includes(true) ? weight : undefined;
    return isCovered.length > 0 && !isCovered.includes(false) ? weight : undefined;
  };
}

function literalLength(pattern: string): number {
  return pattern.replace(NOT_LITERAL, "").length;
}

function closeness(characters: number): number {
  return WEIGHTS.close + characters * WEIGHTS.character;
}

/** If a rule covers several paths, or one under several roots: the stricter weight. */
function pick(effect: RuleEffect, one: number | undefined, other: number): number {
  if (one === undefined) return other;
  return effect === "allow" ? Math.min(one, other) : Math.max(one, other);
}

/** Whether a path matches; with `names`, whether a path below it that they match could. */
type Covers = (path: string, names?: readonly string[]) => boolean;

function compileCover(pattern: string, effect: RuleEffect): Covers {
  // The root itself, and `/`: no glob matches only these two.
  if (pattern === "" || pattern === ".") return (path, names) => path === "" && names === undefined;
  if (pattern === "/") return (path, names) => path === "/" && names === undefined;
  const exact = compileAnchored(pattern);
  if (effect === "allow") return exact;
  const folded = compileAnchored(foldPath(pattern));
  return (path, names) => exact(path, names) || folded(foldPath(path), names?.map(foldPath));
}

/** A glob of one name matches at any depth; "/name" must not, so an absolute one gets a name in front of its "/". */
function compileAnchored(pattern: string): Covers {
  const before = pattern.startsWith("/") ? ":" : "";
  const glob = compileGlob(before + pattern);
  return (path, names) => {
    if (names === undefined) return glob.matches(before + path);
    const above = path === "" || path === "/" ? [] : path.replace(/^\//, "").split("/").map(asGlob);
    return glob.meets([...(before === "" ? [] : [before]), ...above, ...names]);
  };
}
