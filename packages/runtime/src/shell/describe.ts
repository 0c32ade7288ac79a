import type { ParsedShell, ShellWord, SimpleCommand } from "./parsed-shell.ts";
import { inSingleQuotes } from "../protocol/shell-quote.ts";

const PLAIN = /^[\w@%+=:,./~*?[\]{}!^#-]+$/;

/**
 * One line for each command that would run, for display: values instead of obfuscation, and how the command is
 * reached. Nothing in it is hidden: characters other than plain ones are escaped.
 */
export function describeCommands(parsed: ParsedShell): readonly string[] {
  const lines = new Set<string>();
  for (const { shown } of describeEach(parsed)) lines.add(shown);
  for (const line of describeOpaque(parsed)) lines.add(line);
  return [...lines];
}

/** Each command that would run, for display, without how it is reached. */
export function describeEach({ commands }: ParsedShell): readonly { readonly shown: string; readonly line: string }[] {
  const own = commands.filter((command) => !command.isCarrier);
  return own.map((command) => ({ shown: describeCommand(command), line: commandLine(command) }));
}

/** The parts that are unknown before it runs. */
export function describeOpaque({ opaque }: ParsedShell): readonly string[] {
  const lines = new Set<string>();
  for (const { reason, text } of opaque)
    lines.add(`Unknown until it runs: ${reason}${text === "" ? "" : ` (${visible(text)})`}`);
  return [...lines];
}

/** One command on one line, without how it is reached. */
export function commandLine({ words, assignments, redirections }: SimpleCommand): string {
  return [
    ...assignments.map(({ name, value }) => `${name}=${showWord(value)}`),
    ...words.map(showWord),
    ...redirections.map(({ operator, target }) => `${operator} ${showWord(target)}`),
  ].join(" ");
}

function describeCommand(command: SimpleCommand): string {
  const { reached, folder } = command;
  const ways = reached.filter((way, index) => way !== "pipe" && way !== "-c" && reached.indexOf(way) === index);
  if (folder.path === undefined) ways.push("in an unknown folder");
  else if (folder.path !== ".") ways.push(`in ${visible(folder.path)}`);
  return commandLine(command) + (ways.length === 0 ? "" : `  (${ways.map(visible).join(", ")})`);
}

function showWord({ value, text, isDynamic }: ShellWord): string {
  if (isDynamic) return visible(text);
  return PLAIN.test(value) ? value : inSingleQuotes(visible(value));
}

function visible(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (character) =>
    /[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
