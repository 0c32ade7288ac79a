import { parseGitConfig } from "./git-config.ts";
import type { GitSetting } from "./git-config.ts";

/** Whether a folder that a configuration names as its work tree is acceptable. */
type IsWorkTree = (path: string) => boolean;

/**
 * Whether a changed git configuration makes git run nothing new: both versions can be parsed, and only settings known
 * to be harmless differ. Unknown settings must stay the same, in the same order.
 */
export function addsOnlyPlain(before: string, after: string, isWorkTree: IsWorkTree = () => false): boolean {
  const old = othersIn(before, isWorkTree);
  const now = othersIn(after, isWorkTree);
  if (old === undefined || now === undefined || old.length !== now.length) return false;
  return now.every(({ key, value }, at) => key === old[at]?.key && value === old[at].value);
}

/** The settings that are not known to be harmless. */
function othersIn(text: string, isWorkTree: IsWorkTree): readonly GitSetting[] | undefined {
  return parseGitConfig(text)?.filter((setting) => !isPlainSetting(setting, isWorkTree));
}

type Values = (value: string) => boolean;

const SWITCH = matching(/^(?:true|false|yes|no|on|off|\d{1,9}|)$/i);
const OFF = matching(/^(?:false|no|off|0)$/i);
const WORD = matching(/^[a-z0-9][a-z0-9._-]*$/i);
const NUMBER = matching(/^-?\d{1,12}[kmg]?$/i);
/** Names of people: nothing that could break a command line that contains it. */
const TEXT = matching(/^[^\0-\x1f\x7f`$;|&<>\\]*$/u);
/** A list of words, such as colours. */
const WORDS = matching(/^[a-z0-9#][a-z0-9#., -]*$/i);
/** Branch names: not an option, not an address. */
const NAME = matching(/^(?![-/])(?!.*(?:\.\.|@\{|::))[^\0-\x1f\x7f ~^:?*[\\]+$/u);
const REFSPEC = matching(/^[+^]?(?!-)[^\0-\x1f\x7f ~?[\\]*$/u);

function matching(pattern: RegExp): Values {
  return (value) => pattern.test(value);
}

/** Schemes that git handles itself. Any other names a program: `foo://` runs git-remote-foo. */
const ADDRESS = /^(?:(?:https?|ssh|git|file|git\+ssh|ssh\+git):\/\/)(?!-)(?![^/]*@-)[^\0-\x1f\x7f \\]*$/iu;
const SHORT_ADDRESS = /^(?!-)(?:[\w.-]+@)?(?!-)[\w.-]+:(?!:)(?!-)[^\0-\x1f\x7f\\]*$/u;
const LOCAL_PATH = /^(?!-)(?!.*::)[^\0-\x1f\x7f:]+$/u;

/** An address to fetch from or push to that names no program (`ext::sh -c …`) and no ssh option. */
function isPlainAddress(value: string): boolean {
  return ADDRESS.test(value) || (!value.includes("://") && (SHORT_ADDRESS.test(value) || LOCAL_PATH.test(value)));
}

/** Settings by name; `*` is the part between the first and the last dot. Settings not listed here are unknown. */
// oxfmt-ignore
const PLAIN: readonly (readonly [names: string, values: Values])[] = [
  ["core.repositoryformatversion",                                             matching(/^[01]$/)],
  ["core.filemode core.bare core.ignorecase core.precomposeunicode core.symlinks core.safecrlf core.quotepath core.trustctime", SWITCH],
  ["core.untrackedcache core.preloadindex core.splitindex core.multipackindex core.commitgraph core.longpaths core.sparsecheckout core.sparsecheckoutcone", SWITCH],
  ["core.logallrefupdates core.autocrlf core.eol core.checkstat core.abbrev core.sharedrepository core.hidedotfiles", WORD],
  ["core.bigfilethreshold core.compression core.loosecompression core.packedgitlimit core.deltabasecachelimit", NUMBER],
  ["extensions.objectformat extensions.refstorage",                            WORD],

  ["user.name user.email author.name author.email committer.name committer.email", TEXT],
  ["user.useconfigonly",                                                       SWITCH],
  ["init.defaultbranch",                                                       NAME],

  ["remote.*.url remote.*.pushurl submodule.*.url",                            isPlainAddress],
  ["remote.*.fetch remote.*.push",                                             REFSPEC],
  ["remote.*.tagopt",                                                          matching(/^--(?:no-)?tags$/)],
  ["remote.*.mirror remote.*.prune remote.*.prunetags remote.*.skipdefaultupdate remote.*.skipfetchall", SWITCH],
  ["remote.*.followremotehead",                                                WORD],
  ["remote.pushdefault branch.*.remote branch.*.pushremote",                   NAME],
  ["branch.*.merge branch.*.vscode-merge-base",                                NAME],
  ["branch.*.rebase branch.autosetupmerge branch.autosetuprebase branch.sort", WORD],
  ["branch.*.description",                                                     matching(/^(?:[^\0-\x1f\x7f]|[\n\t])*$/u)],
  ["submodule.*.active submodule.*.shallow submodule.recurse",                 SWITCH],
  ["submodule.*.update",                                                       matching(/^(?:checkout|rebase|merge|none)$/)],
  ["submodule.*.branch submodule.*.path submodule.active",                     NAME],
  ["submodule.*.ignore submodule.*.fetchrecursesubmodules submodule.fetchjobs", WORD],

  ["pull.rebase pull.ff push.default push.autosetupremote push.followtags fetch.prune fetch.prunetags fetch.parallel fetch.writecommitgraph", WORD],
  ["merge.ff merge.conflictstyle merge.renames merge.renamelimit merge.directoryrenames merge.log merge.stat merge.autostash merge.verbosity", WORD],
  ["rebase.autosquash rebase.autostash rebase.stat rebase.updaterefs rebase.forkpoint rebase.missingcommitscheck", WORD],
  ["commit.verbose commit.status commit.cleanup stash.showpatch stash.showstat stash.showincludeuntracked",        WORD],
  ["commit.gpgsign tag.gpgsign push.gpgsign log.showsignature",                OFF],
  ["diff.renames diff.renamelimit diff.algorithm diff.mnemonicprefix diff.noprefix diff.context diff.interhunkcontext diff.submodule diff.colormoved", WORD],
  ["diff.indentheuristic diff.autorefreshindex log.decorate log.follow log.abbrevcommit log.showroot",             WORD],
  ["status.short status.branch status.showstash status.showuntrackedfiles status.submodulesummary status.relativepaths", WORD],
  ["rerere.enabled rerere.autoupdate index.version index.threads index.skiphash worktree.guessremote gc.auto",     WORD],
  ["receive.denycurrentbranch receive.denynonfastforwards receive.denydeletes lfs.repositoryformatversion",        matching(/^(?:true|false|refuse|warn|ignore|[01])$/)],
];

/** Sections in which every setting is harmless. */
const PLAIN_SECTIONS: Readonly<Record<string, Values | undefined>> = {
  __proto__: null as never,
  color: WORDS,
  column: WORDS,
  advice: SWITCH,
};

const plainByName = new Map(PLAIN.flatMap(([names, values]) => names.split(" ").map((name) => [name, values])));

/** Whether a setting, with its key as parsed, is known to make git run nothing. */
export function isPlainSetting({ key, value = "true" }: GitSetting, isWorkTree: IsWorkTree = () => false): boolean {
  const first = key.indexOf(".");
  const last = key.lastIndexOf(".");
  if (first < 0) return false;
  const section = key.slice(0, first);
  const between = key.slice(first + 1, Math.max(first + 1, last));
  // Names of remotes and branches end up in command lines and file names.
  if (between.startsWith("-") || /[\0-\x1f\x7f]/.test(between)) return false;
  if (key === "core.worktree") return isWorkTree(value);
  const whole = PLAIN_SECTIONS[section];
  if (whole !== undefined) return whole(value);
  const name = first === last ? key : `${section}.*${key.slice(last)}`;
  return plainByName.get(name)?.(value) === true;
}

/** A key as typed, in the form of the parser. */
export function settingKey(typed: string): string {
  const first = typed.indexOf(".");
  const last = typed.lastIndexOf(".");
  if (first < 0) return typed.toLowerCase();
  return typed.slice(0, first).toLowerCase() + typed.slice(first, last) + typed.slice(last).toLowerCase();
}
