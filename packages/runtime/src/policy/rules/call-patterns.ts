import { isInside } from "../../paths/inside.ts";
import type { ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import type { CallFacts, NamedCommand } from "../facts.ts";

/** Characters that a word pattern can contain unescaped. */
const PLAIN_WORD = /^[^\s*]+$/;

/** The only command that a call runs; undefined if it runs several, or if its effect is not fully known. */
export function onlyCommand({
  commands = [],
}: CallFacts): { readonly named: NamedCommand; readonly command: SimpleCommand } | undefined {
  const [named, ...more] = commands;
  if (named === undefined || more.length > 0 || named.parsed.opaque.length > 0) return undefined;
  const [command, ...others] = named.parsed.commands;
  return command === undefined || others.length > 0 ? undefined : { named, command };
}

/** The words of a call's only command as a pattern that matches exactly these words. */
export function exactCommand(call: CallFacts): string | undefined {
  const words = onlyCommand(call)?.command.words ?? [];
  return words.length > 0 && words.every(isPlain) ? words.map(({ value }) => value).join(" ") : undefined;
}

function isPlain({ value, isDynamic, isPattern }: ShellWord): boolean {
  return !isDynamic && !isPattern && PLAIN_WORD.test(value);
}

/** The only path that a call touches. */
export function onlyPath({ touches }: CallFacts): string | undefined {
  const places = new Set(touches.map(({ real }) => real));
  return places.size === 1 ? touches[0]?.real : undefined;
}

/** The innermost folder that contains everything a call touches, if it is below a root. */
export function commonFolder({ touches }: CallFacts, roots: readonly string[]): string | undefined {
  const [first, ...rest] = touches.map(({ real }) => real.split("/").slice(0, -1));
  if (first === undefined) return undefined;
  const isShared = (name: string, index: number): boolean => rest.every((names) => names[index] === name);
  const end = first.findIndex((name, index) => !isShared(name, index));
  const folder = (end < 0 ? first : first.slice(0, end)).join("/");
  return roots.some((root) => folder !== root && isInside(root, folder)) ? folder : undefined;
}

/** The only host that a call contacts. */
export function onlyHost({ addresses = [] }: CallFacts): string | undefined {
  const hosts = new Set(addresses.map(({ verdict }) => (verdict.effect === "ALLOW" ? verdict.target.host : undefined)));
  const [host] = hosts;
  return hosts.size === 1 ? host : undefined;
}
