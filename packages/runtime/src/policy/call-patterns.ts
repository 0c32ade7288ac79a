import { isInside } from "../paths/inside.ts";
import type { ShellWord, SimpleCommand } from "../shell/parsed-shell.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
import type { CallFacts, NamedCommand } from "./facts.ts";

/** Programs whose first operand says what they do: `git push` and `git status` have little to do with each other. */
// oxfmt-ignore
const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set([
  "apt", "apt-get", "aws", "az", "brew", "bun", "bundle", "cargo", "composer", "conda", "deno", "dnf", "docker", "dotnet",
  "flutter", "gcloud", "gem", "gh", "git", "glab", "go", "gradle", "helm", "hg", "jj", "just", "kubectl", "make", "meson",
  "mix", "mvn", "nix", "npm", "pdm", "pip", "pip3", "pipx", "pnpm", "podman", "poetry", "rake", "rustup", "stack", "svn",
  "swift", "systemctl", "task", "terraform", "tofu", "uv", "yarn", "zig",
]);

/** A word that can only be meant: no option, path, pattern or variable. */
const SUBCOMMAND = /^[a-z][\w:.-]*$/i;
/** What a pattern of words can hold as it is. */
const PLAIN_WORD = /^[^\s*]+$/;

/** The one command that a call runs; undefined where it runs several, or where not all is known of what it does. */
function onlyCommand({
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

/**
 * The first words of a call's one command with `*` for the rest: `git push *`. Undefined where these would stand for too
 * much: a carrier, a program that lies somewhere below the working folder, or a risky command whose danger is not in its
 * first words.
 */
export function commandPrefix(call: CallFacts): string | undefined {
  const only = onlyCommand(call);
  if (only === undefined || only.command.assignments.length + only.command.redirections.length > 0) return undefined;
  const { named, command } = only;
  const isRisky = named.verdict.findings.length > 0;
  const [program, ...rest] = command.words;
  if (program === undefined || !isPlain(program) || program.value.includes("/")) return undefined;
  const first = [program.value];
  if (WITH_SUBCOMMANDS.has(program.value)) {
    const subcommand = rest.shift();
    if (subcommand === undefined || !SUBCOMMAND.test(subcommand.value)) return undefined;
    first.push(subcommand.value);
  } else if (isRisky) {
    return undefined;
  }
  if (isRisky) {
    // `git branch -D x` is risky for its option, so the option belongs to what is meant.
    const operand = rest.findIndex(({ value }) => !value.startsWith("-"));
    const options = operand < 0 ? rest : rest.slice(0, operand);
    if (rest.slice(options.length).some(({ value, isDynamic }) => isDynamic || value.startsWith("-"))) return undefined;
    if (!options.every(isPlain)) return undefined;
    first.push(...options.map(({ value }) => value));
  }
  const pattern = [...first, "*"].join(" ");
  return isCarrierPattern(pattern) ? undefined : pattern;
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
