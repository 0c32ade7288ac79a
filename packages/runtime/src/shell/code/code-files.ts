import { argumentsAfter } from "./code-arguments.ts";
import { usesGiven } from "./code-evaluation.ts";
import { knownWord } from "../parsed-shell.ts";
import type { ShellWord } from "../parsed-shell.ts";

/** What code does to files, as the equivalent shell commands. */
export interface CodeFiles {
  readonly commands: readonly (readonly ShellWord[])[];
  /** Files opened for writing or truncated. */
  readonly targets: readonly string[];
  /** Calls that delete paths which the code names only elsewhere. */
  readonly named: readonly string[];
  readonly opaque: string | undefined;
}

/** Calls that delete folders recursively. */
const DELETES =
  /\b(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|rimraf|rimrafSync|remove_tree|remove_dir_all|remove_entry_secure|RemoveAll|removeSync|emptyDirSync|fs\.rm|fsPromises\.rm|fs\.promises\.rm|promises\.rm|Deno\.remove|Deno\.removeSync|deleteDirectory|delete_tree|FileUtils\.rm|delete-directory|directory-delete|delete-tree|delete-directory-tree|File\.rm_rf|rm_rf!|rm_rf|removeDirectoryRecursive|deleteRecursively|deleteDir)\s*!?[( ]/g;
/** R and vim: a call that is recursive only with a certain argument. */
const DELETES_DEEPLY =
  /\b(?:unlink\s*\(\s*"([^"]*)"\s*,\s*(?:recursive\s*=\s*)?T|delete\s*\(\s*["']([^"']*)["']\s*,\s*["']rf?["'])/g;
const DELETES_ONE =
  /\b(?:unlink|unlinkSync|os\.remove|remove|File\.delete|Path|pathlib\.Path)\s*\(|\bunlink\s+(?:glob\s*\(?\s*)?(?=["'])/g;
/** A path whose own method deletes: `Pathname("/x").rmtree`. */
const DELETES_ITSELF =
  /\b(?:Pathname(?:\.new)?|Path|File|Paths\.get|Path\.of|Dir\.new|path|Storage)\s*\(\s*["']([^"'\n]{1,400})["']\s*\)(?:\s*\.\s*\w+(?:\([^()\n]{0,80}\))?){0,4}?\s*\.\s*(?:rmtree|unlink|rmdir|delete\w*|remove\w*)\b/g;
const OPENS =
  /\b(?:open|fopen|File\.open|openSync|writeFile|writeFileSync|appendFileSync|createWriteStream|write_text|write_bytes|file_put_contents|File\.write)\s*\(/g;
const SHORTENS = /\b(?:os\.truncate|truncate(?:Sync)?|File\.truncate|fs\.truncate)\s*\(/g;

/** Calls equivalent to a shell command, with the texts of the call as its words. */
// oxfmt-ignore
const AS_COMMANDS: readonly (readonly [at: RegExp, command: readonly string[], least: number])[] = [
  [/\b(?:os\.renames?|os\.replace|shutil\.move|fs\.rename|renameSync|moveSync|FileUtils\.mv|File\.rename|Files\.move|rename)\s*\(|\brename\s+(?=["'])/g, ["mv"], 2],
  [/\b(?:shutil\.copy\w*|copyFile(?:Sync)?|cpSync|fs\.cp|FileUtils\.(?:cp|cp_r|copy|install)|Files\.copy)\s*\(/g,              ["cp"], 2],
  [/\b(?:os\.(?:symlink|link)|symlinkSync|linkSync|fs\.(?:sym)?link|File\.(?:sym)?link|FileUtils\.ln\w*|Files\.create\w*Link)\s*\(/g, ["ln", "-s"], 2],
  [/\b(?:os\.l?ch(?:mod|own)|ch(?:mod|own)Sync|fs\.ch(?:mod|own)|File\.ch(?:mod|own)|FileUtils\.ch(?:mod|own)\w*|ch(?:mod|own))\s*\(/g, ["chmod", "-R", "u+rwx"], 1],
];

/** Calls that delete files and have no other meaning. */
const FILE_DELETER =
  /\b(?:unlink\w*|rmtree|rmdir\w*|removedirs|rm_rf?|rm_r|rmSync|remove_tree|os\.remove|File\.delete|FileUtils\.(?:rm|remove)\w*|Deno\.remove\w*|deleteRecursively|Files\.delete\w*|fs\.rm|remove_file|remove_dir_all|removeSync|removeItem|delete-file|delete-directory)\b/;
/** Calls that list the files of a folder, or change to it. */
const LISTS =
  /\b(?:os\.(?:walk|fwalk|scandir|listdir|chdir)|i?glob|rglob|globSync|readdir\w*|opendir\w*|walk\w*|scandir|chdir|listdir|find|finddepth|Find\.find|Dir\.\w+|(?:Recursive)?DirectoryIterator|FilesystemIterator|Pathname(?:\.new)?|Path|lfs\.dir|list\.files|Deno\.readDir\w*|directory-files\w*)(?:\s*\(|\s+(?=["'/]))|\bDir\s*\[/g;
/** Perl's `unlink </etc/*>`. */
const PERL_GLOB = /<([/~][^>\s]{0,200})>/g;
/** A path outside the folder that the code runs in. */
const ELSEWHERE = /^(?:[/~]|\.\.(?:\/|$))/;
const QUOTED_PLACE = /["'`]((?:[/~]|\.\.\/)[^"'`\n$#{}]{0,200})["'`]/g;
const MAX_PLACES = 8;

export function filesInCode(code: string): CodeFiles {
  const commands: (readonly ShellWord[])[] = [];
  const remove = (path: string, option = "-rf"): void => {
    commands.push([knownWord("rm"), knownWord(option), knownWord(path)]);
  };
  for (const { texts } of argumentsAfter(code, DELETES)) {
    if (texts.length > 0) remove(pathOf(texts));
    else commands.push([knownWord("rm"), knownWord("-rf"), { ...knownWord(""), isDynamic: true }]);
  }
  for (const { texts } of argumentsAfter(code, DELETES_ONE)) {
    if (texts[0] !== undefined && /\b(?:unlink|remove|delete)/.test(code)) remove(texts[0], "-f");
  }
  for (const [, one, two] of code.matchAll(DELETES_DEEPLY)) remove(one ?? two ?? "");
  for (const [, path = ""] of code.matchAll(DELETES_ITSELF)) remove(path);
  for (const [at, command, least] of AS_COMMANDS) {
    for (const { texts } of argumentsAfter(code, at)) {
      if (texts.length >= least) commands.push([...command, ...texts.slice(0, least)].map((text) => knownWord(text)));
    }
  }
  return { commands: [...commands, ...deletedElsewhere(code)], targets: targetsOf(code), ...unfollowed(code) };
}

function targetsOf(code: string): readonly string[] {
  const targets: string[] = [];
  for (const { texts, name } of argumentsAfter(code, OPENS)) {
    const [path, mode = ""] = texts;
    if (path !== undefined && (/write|append|put/i.test(name) || /^[rb]*[wax+]|^>/.test(mode))) targets.push(path);
  }
  for (const { texts } of argumentsAfter(code, SHORTENS)) targets.push(...texts.slice(0, 1));
  return targets;
}

/** Code that lists another folder and deletes files: it deletes the files that it lists. */
function* deletedElsewhere(code: string): Generator<readonly ShellWord[]> {
  if (!FILE_DELETER.test(code)) return;
  const places = new Set<string>();
  for (const { texts } of argumentsAfter(code, LISTS)) for (const text of texts) places.add(text);
  for (const [, place = ""] of code.matchAll(PERL_GLOB)) places.add(place);
  for (const place of [...places].filter((each) => ELSEWHERE.test(each)).slice(0, MAX_PLACES))
    yield [knownWord("rm"), knownWord("-rf"), knownWord(place)];
}

/** It cannot be determined what it deletes: possibly the paths that it names, and everything that it receives. */
function unfollowed(code: string): Pick<CodeFiles, "named" | "opaque"> {
  if (!FILE_DELETER.test(code)) return { named: [], opaque: undefined };
  const places = new Set(Array.from(code.matchAll(QUOTED_PLACE), ([, place = ""]) => place));
  return {
    named: [...places].slice(0, MAX_PLACES).map((place) => `rm("${place}")`),
    opaque: usesGiven(code) ? "the code deletes files whose names it reads or receives" : undefined,
  };
}

/** `os.path.join("/", "home")` and the like: the resulting paths. */
function pathOf(texts: readonly string[]): string {
  return texts.filter((text) => !/^(?:recursive|force|utf-?8)$/i.test(text)).join("/");
}
