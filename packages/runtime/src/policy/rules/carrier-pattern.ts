import { isCarrierName } from "../../shell/carriers/run-command.ts";

/**
 * Whether a pattern would match every command: a program that runs others with anything after it (`bash *`, `sudo *`,
 * `env FOO=1 *`), or `*` as the first word. Neither a rule nor a grant may contain such a pattern.
 */
export function isCarrierPattern(words: string): boolean {
  const [name = "", ...rest] = words.trim().split(/\s+/);
  if (name === "" || name.includes("*")) return true;
  const isOwn = rest.length > 0 && !rest[0]?.includes("*") && KNOWN_SUBCOMMANDS.test(`${baseOf(name)} ${rest[0]}`);
  if (isOwn) return false;
  const isFree = rest.some((word) => word.includes("*"));
  return isFree && isCarrierName(baseOf(name)) && !HARMLESS_CARRIERS.has(baseOf(name));
}

function baseOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Look like programs that run others, but are builtins that are judged by what they change. */
const HARMLESS_CARRIERS = new Set([
  "cd",
  "pushd",
  "popd",
  "export",
  "declare",
  "local",
  "readonly",
  "unset",
  "read",
  "test",
  "[",
  "printf",
  "wait",
  "set",
  "shift",
  "let",
  "sort",
  "split",
  "less",
  "more",
  "man",
  "rg",
]);

/** Programs that run others only with some of their subcommands. */
const KNOWN_SUBCOMMANDS =
  /^(?:git (?!bisect|submodule|rebase|filter-branch|difftool|config|-)|npm (?!exec|x$|-)|(?:yarn|pnpm) (?!exec|dlx|-)|bun (?!x$|-)|(?:uv|poetry|pdm|hatch|pipenv|conda) (?!run|x$|-)|bundle (?!exec)|(?:docker|podman|kubectl|docker-compose) (?!exec|run|shell|compose|-)|nix (?!develop|shell|run)|perf (?!stat|record|trace))/;
