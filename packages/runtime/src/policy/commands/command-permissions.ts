import type { Permission } from "../../protocol/call.ts";
import { gitSubcommand } from "../../shell/carriers/git.ts";
import { readArguments } from "../../shell/programs/options.ts";
import { isDoubtful, optionsOf } from "../../shell/programs/program-options.ts";
import type { ParsedShell, SimpleCommand } from "../../shell/parsed-shell.ts";
import { OF_ACCESS, UNKNOWN_MAY } from "./needed-permissions.ts";
import type { NeededPermissions } from "./needed-permissions.ts";
import { baseName, roleOf, UNKNOWN_ROLE } from "./program-roles.ts";
import type { Use } from "./program-roles.ts";
import { writesNoFile } from "./read-only-commands.ts";

/** The permissions that the commands of a text need. */
export function permissionsOfText(parsed: ParsedShell): NeededPermissions {
  const uses = new Set<Permission>();
  const may = new Set<Permission>(parsed.opaque.length > 0 ? UNKNOWN_MAY : []);
  for (const command of parsed.commands) {
    const needed = ofCommand(command);
    for (const each of needed.uses) uses.add(each);
    for (const each of needed.may) may.add(each);
  }
  return { uses, may };
}

interface Needed {
  readonly uses: readonly Permission[];
  readonly may: readonly Permission[];
}

function ofCommand(command: SimpleCommand): Needed {
  const { words, redirections, isCarrier } = command;
  const written: readonly Permission[] = writesNoFile(redirections) ? [] : ["fs.write"];
  const [name] = words;
  if (name === undefined) return { uses: written, may: [] };
  const base = name.isDynamic ? "" : baseName(name.value);
  if (base === "git") {
    const needed = ofGit(command);
    return { ...needed, uses: [...needed.uses, ...written] };
  }
  const role = roleOf(command);
  const network: readonly Permission[] = asksNetwork(base, command) ? ["net.connect"] : [];
  if (role !== UNKNOWN_ROLE) {
    const uses = [...role.operands, ...(role.last ?? [])].map((use: Use) => OF_ACCESS[use]);
    return { uses: [...uses, ...written], may: [] };
  }
  // The commands that this one runs are in the list too.
  return { uses: ["fs.read", ...network, ...written], may: isCarrier ? [] : UNKNOWN_MAY };
}

/** Commands of git that change neither the repository nor the working folder. */
// oxfmt-ignore
const GIT_LOOKS = new Set([
  "status", "log", "diff", "show", "blame", "annotate", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog", "grep", "cat-file",
  "for-each-ref", "show-ref", "merge-base", "name-rev", "check-ignore", "check-attr", "count-objects", "diff-tree", "diff-files", "diff-index",
  "version", "help", "whatchanged", "range-diff", "cherry", "var", "archive", "verify-commit", "verify-tag", "fsck", "",
]);
const GIT_NETWORK = new Set(["push", "fetch", "pull", "clone", "ls-remote", "send-email", "request-pull", "svn", "p4"]);
const GIT_NETWORK_REST: Readonly<Record<string, RegExp | undefined>> = {
  __proto__: null as never,
  remote: /^(?:update|show|prune|-f|--fetch)$/,
  submodule: /^(?:update|add)$/,
  lfs: /^(?:push|fetch|pull|clone)$/,
  archive: /^--remote(?:=|$)/,
};
/** For commands that can do both: the words that make them read-only. */
const GIT_LOOKS_WITH: Readonly<Record<string, RegExp | undefined>> = {
  __proto__: null as never,
  branch:
    /^(?:-a|-r|-v|-vv|-l|--list|--all|--remotes|--show-current|--contains.*|--merged|--no-merged|--sort=.*|--format=.*)$/,
  tag: /^(?:-l|-n\d*|--list|--contains.*|--merged|--sort=.*|--format=.*)$/,
  remote: /^(?:-v|--verbose|show|get-url)$/,
  stash: /^(?:list|show)$/,
  worktree: /^list$/,
  config: /^(?:--get.*|--list|-l|get|list)$/,
  reflog: /^(?:show|exists)$/,
  notes: /^(?:list|show)$/,
  submodule: /^(?:status|summary)$/,
  "ls-remote": /^/,
};

/** Whether git writes to its repository or the working folder. */
function ofGit({ words, isCarrier }: SimpleCommand): Needed {
  const [subcommand, ...rest] = gitSubcommand(words);
  const name = subcommand?.value ?? "";
  const isUnsure = subcommand?.isDynamic === true || words.slice(1).some(({ canSplit }) => canSplit);
  const hasWord = (pattern: RegExp | undefined): boolean => rest.some(({ value }) => pattern?.test(value) === true);
  const looksWith = GIT_LOOKS_WITH[name];
  const isBare = rest.length === 0 && /^(?:branch|tag|remote|reflog|notes|submodule)$/.test(name);
  const looks = GIT_LOOKS.has(name) || isBare || name === "ls-remote" || hasWord(looksWith);
  const asks = GIT_NETWORK.has(name) || hasWord(GIT_NETWORK_REST[name]);
  const writes = rest.some(({ value }) => /^--output(?:=|$)|^-o/.test(value)) && name !== "ls-files";
  return {
    uses: [
      "fs.read",
      ...(looks ? [] : (["git.write"] as const)),
      ...(asks ? (["net.connect"] as const) : []),
      ...(GIT_FILES.has(name) || writes ? (["fs.write"] as const) : []),
      ...(GIT_DELETES.has(name) ? (["fs.delete"] as const) : []),
    ],
    may: isUnsure || (isCarrier && !looks) ? UNKNOWN_MAY : [],
  };
}

/** They write files in the working folder. */
// oxfmt-ignore
const GIT_FILES = new Set([
  "checkout", "switch", "restore", "reset", "merge", "rebase", "cherry-pick", "revert", "pull", "stash", "clone", "init", "apply", "am", "mv", "rm",
  "clean", "worktree", "submodule", "read-tree", "checkout-index", "format-patch", "bundle", "filter-branch", "sparse-checkout",
]);
const GIT_DELETES = new Set(["rm", "clean"]);

/** Programs that use the network, with their first words if only some of their commands do. */
// oxfmt-ignore
const NETWORK: readonly { readonly run: RegExp; readonly subcommands?: RegExp }[] = [
  { run: /^(?:curl|wget|aria2c|http|https|xh|curlie|ftp|lftp|tftp|sftp|ssh|scp|mosh|telnet|rsh|nc|ncat|netcat|socat|nmap|ping|ping6|dig|host|nslookup|whois|traceroute|rclone|s3cmd|gsutil|aws|gcloud|az|gh|glab|kubectl|helm|npx|bunx|uvx|pipx|sendmail|mail|mutt)$/ },
  { run: /^(?:npm|pnpm|yarn|bun)$/, subcommands: /^(?:install|i|ci|add|update|upgrade|up|publish|unpublish|view|info|search|audit|outdated|login|logout|exec|x|dlx|create|init|fund|ping|star|owner|access|dist-tag|deprecate|token|pack|fetch|)$/ },
  { run: /^(?:pip|pip3|uv|poetry|pdm|conda|mamba|gem|bundle|composer|cpan|luarocks|opam|mix|rebar3|nuget|dotnet|swift|pod|brew|apt|apt-get|dnf|yum|zypper|apk|pacman|snap|flatpak|nix|rustup|nvm|pyenv|mise|asdf)$/, subcommands: /^(?:install|add|sync|lock|update|upgrade|download|search|publish|push|fetch|get|restore|deps\.get|require|create|pull|outdated|remove|tool|self|-S.*)$/ },
  { run: /^cargo$/, subcommands: /^(?:install|add|fetch|update|publish|search|login|yank|owner|vendor|generate-lockfile)$/ },
  { run: /^go$/, subcommands: /^(?:get|mod|install)$/ },
  { run: /^(?:docker|podman|nerdctl|buildah|skopeo|crane)$/, subcommands: /^(?:pull|push|login|logout|search|copy)$/ },
  { run: /^(?:terraform|tofu|pulumi|ansible|ansible-playbook|vercel|netlify|wrangler|flyctl|heroku|firebase)$/ },
];

function asksNetwork(base: string, { words }: SimpleCommand): boolean {
  const row = NETWORK.find(({ run }) => run.test(base));
  if (row === undefined) return base === "rsync" && words.some(({ value }) => /^[^/]+:/.test(value));
  if (row.subcommands === undefined) return true;
  const { subcommands } = row;
  const { operands } = readArguments(words, optionsOf(base));
  const end = operands.findIndex((word) => !isDoubtful(word, words));
  const first =
    operands.length === 0 ? [""] : operands.slice(0, end < 0 ? undefined : end + 1).map(({ value }) => value);
  return first.some((value) => subcommands.test(value));
}
