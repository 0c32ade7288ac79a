import { isInside } from "../paths/inside.ts";
import type { ShellWord, SimpleCommand } from "../shell/parsed-shell.ts";
import type { CallFacts, NamedCommand } from "./facts.ts";

/** What a pattern of words can hold as it is. */
const PLAIN_WORD = /^[^\s*]+$/;

/** The one command that a call runs; undefined where it runs several, or where not all is known of what it does. */
export function onlyCommand({
  commands = [],
}: CallFacts): { readonly named: NamedCommand; readonly command: SimpleCommand } | undefined {
  const [named, ...more] = commands;
  if (named === undefined || more.length > 0 || named.parsed.opaque.length > 0) return undefined;
  const [command, ...others] = named.parsed.commands;
  return command === undefined || others.length > 0 ? undefined : { named, command };
}

/** The words of a call's one command as a pattern that means exactly these. */
export function exactCommand(call: CallFacts): string | undefined {
  const words = onlyCommand(call)?.command.words ?? [];
  return words.length > 0 && words.every(isPlain) ? words.map(({ value }) => value).join(" ") : undefined;
}

function isPlain({ value, isDynamic, isPattern }: ShellWord): boolean {
  return !isDynamic && !isPattern && PLAIN_WORD.test(value);
}

/** The one place that a call touches. */
export function onlyPath({ touches }: CallFacts): string | undefined {
  const places = new Set(touches.map(({ real }) => real));
  return places.size === 1 ? touches[0]?.real : undefined;
}

/** The innermost folder that holds all that a call touches, where it is smaller than a root. */
export function commonFolder({ touches }: CallFacts, roots: readonly string[]): string | undefined {
  const [first, ...rest] = touches.map(({ real }) => real.split("/").slice(0, -1));
  if (first === undefined) return undefined;
  const isShared = (name: string, index: number): boolean => rest.every((names) => names[index] === name);
  const end = first.findIndex((name, index) => !isShared(name, index));
  const folder = (end < 0 ? first : first.slice(0, end)).join("/");
  return roots.some((root) => folder !== root && isInside(root, folder)) ? folder : undefined;
}

/** The one host that a call asks. */
export function onlyHost({ addresses = [] }: CallFacts): string | undefined {
  const hosts = new Set(addresses.map(({ verdict }) => (verdict.effect === "ALLOW" ? verdict.target.host : undefined)));
  const [host] = hosts;
  return hosts.size === 1 ? host : undefined;
}
