import type { TranscriptEnd } from "../contract/context.ts";
import type { CommandEnd } from "../contract/processes.ts";

type CommandText = Pick<TranscriptEnd, "stdout" | "stderr">;

/** How a command ended, with its use of the network. */
export interface CommandOutcome extends Pick<CommandEnd, "sandbox" | "packages_closed"> {
  /** It had access to the network allowlist. */
  readonly network: boolean;
  readonly connections?: readonly { readonly host: string; readonly port: number; readonly allowed: boolean }[];
}

interface HintRow {
  readonly words: RegExp;
  /** Set only if the packages of the workspace are read-only. */
  readonly ofPackages?: true;
  readonly hint: string;
}

/**
 * Messages of programs that cannot resolve a name or have no route to an address. Not those of bundlers about imports
 * ("could not resolve 'x'"), and not "connection refused": without network, only the command's own server refuses.
 */
const NO_NETWORK = new RegExp(
  [
    String.raw`(?:could not|couldn't|unable to|failed to|cannot|can't) resolve (?:host|name|proxy|address|hostname)`,
    String.raw`(?:temporary failure|error) (?:in name resolution|resolving)`,
    String.raw`(?:name or service|nodename nor servname) (?:not known|provided)`,
    String.raw`no address associated with (?:host)?name`,
    String.raw`failed to look ?up address`,
    String.raw`\b(?:EAI_AGAIN|EAI_NONAME|ENETUNREACH|EHOSTUNREACH|ENOTFOUND)\b`,
    String.raw`getaddrinfo`,
    String.raw`dial tcp: lookup`,
    String.raw`lookup \S{1,255} on \S{1,255}: `,
    String.raw`dns error`,
    String.raw`unknown ?host`,
    String.raw`(?:network|host) is unreachable|no route to host|network is down`,
    String.raw`failed to establish a new connection`,
    String.raw`problem related to network connectivity`,
    String.raw`you (?:appear|seem) to be offline`,
  ].join("|"),
  "i",
);

const NETWORK_HINT =
  'The sandbox has no network, and the command seems to need one. "network": true allows the addresses on the allowlist ("network": { "allow": [...] } in the configuration); needs approval.';

/** Likely causes of a failure in the sandbox, by the command's last output. */
const RUN_INTO: readonly HintRow[] = [
  {
    // Node.js reports ENOENT when it creates a folder with its parents.
    words:
      /(?:EROFS|read-only file system|ENOENT[^\n]*(?:mkdir|rename|symlink|open))[^\n]*node_modules|node_modules[^\n]*read-only file system|EAI_AGAIN registry\.(?:npmjs|yarnpkg)\./i,
    ofPackages: true,
    hint: 'node_modules is read-only for commands, because this program is installed there; only its existing caches (such as .cache and .vite) are writable. To install or change packages, set "change_run_later": true, and "network": true to download them (needs approval), or ask the user to run it.',
  },
  { words: NO_NETWORK, hint: NETWORK_HINT },
  {
    words: /could not (?:write|lock) config file/i,
    hint: "Git's configuration is read-only for commands without approval, and while other commands run.",
  },
  {
    words: /read-only file system|EROFS/i,
    hint: 'Only the workspace and /tmp are writable. For known read-only commands the workspace is read-only too. Files that other programs run later are always read-only, unless "change_run_later" is set and approved.',
  },
];

/** The last lines say why a command failed; earlier lines may be about something else. */
const LAST_CHARACTERS = 4096;

/** For a command that failed. Undefined if the cause is unknown. */
export function hintFor(end: CommandOutcome, printed: CommandText): string | undefined {
  if (end.sandbox === "none") return undefined;
  if (end.network) return refusedHint(end) ?? firstHint(end, printed, (row) => row.words !== NO_NETWORK);
  return firstHint(end, printed, () => true);
}

/** For a command that timed out: it may have waited for network access that it does not have. */
export function networkHint(end: CommandOutcome, printed: CommandText): string | undefined {
  if (end.sandbox === "none") return undefined;
  return end.network ? refusedHint(end) : firstHint(end, printed, (row) => row.words === NO_NETWORK);
}

function firstHint(
  { packages_closed }: CommandOutcome,
  { stdout, stderr }: CommandText,
  isMeant: (row: HintRow) => boolean,
): string | undefined {
  const last = `${stderr.slice(-LAST_CHARACTERS)}\n${stdout.slice(-LAST_CHARACTERS)}`;
  const rows = RUN_INTO.filter((row) => row.ofPackages !== true || packages_closed === true);
  return rows.find((row) => isMeant(row) && row.words.test(last))?.hint;
}

const MAX_NAMED = 5;

/** The hosts that a command with network access requested and that are not on the allowlist. */
function refusedHint({ connections = [] }: CommandOutcome): string | undefined {
  const refused = connections.filter(({ allowed }) => !allowed);
  const names = [...new Set(refused.map(({ host, port }) => JSON.stringify(isUsual(port) ? host : `${host}:${port}`)))];
  if (names.length === 0) return undefined;
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `Not on the network allowlist: ${names.slice(0, MAX_NAMED).join(", ")}${more}. The user can add names to "network": { "allow": [...] } in the configuration.`;
}

function isUsual(port: number): boolean {
  return port === 80 || port === 443;
}
