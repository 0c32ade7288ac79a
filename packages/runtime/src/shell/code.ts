import { decodedTexts, isDecoding } from "./decoded.ts";
import { knownWord } from "./parsed-shell.ts";
import type { ShellWord } from "./parsed-shell.ts";

/** What a piece of code in another language plainly does to the machine. */
export interface CodeFound {
  /** Read as shell. */
  readonly texts: readonly string[];
  readonly commands: readonly (readonly ShellWord[])[];
  /** Files that are opened for writing. */
  readonly targets: readonly string[];
  readonly opaque: string | undefined;
}

/** Calls that start a program: the first text is a command line, or the texts of a list are its words. */
const STARTS =
  /(?:\b(?:system2?|popen[23]?|exec\w*|spawn\w*|shell\w*|passthru|proc_open|getoutput|getstatusoutput|check_output|check_call|check_run|run\w*|call|Popen|Command|ProcessBuilder|createProcess|callCommand|readProcess|os:cmd|[Cc]md|open_port|os\.execute|io\.popen|sh|execa|zx|\$)\s*\(|\b(?:system|exec|spawn|callCommand|shell_exec)\s+(?=["'q])|\(\s*(?:[\w.*+-]+[:/])*(?:shell-command[\w-]*|call-process[\w-]*|start-process[\w-]*|async-shell-command|run-program|launch-program|run-shell-command|system\*?|process\*?|sh|shell|compile|eshell-command)\s+)/g;
/** A text that is run by a method of its own: `"rm -rf x".execute()`, `"rm -rf x".!`. */
const RUNS_ITSELF = /"((?:[^"\\\n]|\\.)+)"\s*\.\s*(?:execute\s*\(|!!?|lazyLines|run\b)/g;
/** Of those, the calls that start a program whatever else they are named for; with nothing spelled out it is not known which. */
const STARTS_UNKNOWN =
  /(?:\b(?:os|subprocess|child_process|cp|Kernel|IO|Process|Open3|popen2|pty|commands)\s*\.\s*(?:system|popen\w*|exec\w*|spawn\w*|run|call|check_output|check_call|Popen|getoutput|getstatusoutput|capture\w*)|(?<![.\w$>])(?:system|exec|popen|shell_exec|passthru|proc_open|spawn)|\b(?:execSync|execFileSync|spawnSync|execFile|os\.execute|io\.popen))(?:\s*\(\s*|\s+)(?!["'`)]|[rbuf]["']|\[?\s*["'`[]|q[qw]?\W|%w|@?\(?\s*["'])(?=[$@\w])/;
/** Calls that delete whole folders. */
const DELETES =
  /\b(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|rimraf|rimrafSync|remove_tree|remove_dir_all|remove_entry_secure|RemoveAll|removeSync|emptyDirSync|fs\.rm|fsPromises\.rm|fs\.promises\.rm|promises\.rm|Deno\.remove|Deno\.removeSync|deleteDirectory|delete_tree|FileUtils\.rm|delete-directory|directory-delete|delete-tree|delete-directory-tree|File\.rm_rf|rm_rf!|rm_rf|removeDirectoryRecursive|deleteRecursively|deleteDir)\s*!?[( ]/g;
/** R, and vim: a call that deletes deeply only with an argument that says so. */
const DELETES_DEEPLY =
  /\b(?:unlink\s*\(\s*"([^"]*)"\s*,\s*(?:recursive\s*=\s*)?T|delete\s*\(\s*["']([^"']*)["']\s*,\s*["']rf?["'])/g;
const DELETES_ONE =
  /\b(?:unlink|unlinkSync|os\.remove|remove|File\.delete|Path|pathlib\.Path)\s*\(|\bunlink\s+(?:glob\s*\(?\s*)?(?=["'])/g;
const OPENS =
  /\b(?:open|fopen|File\.open|openSync|writeFile|writeFileSync|appendFileSync|createWriteStream|write_text|write_bytes|file_put_contents|File\.write)\s*\(/g;
const BACKTICKS =
  /`((?:[^`\\$]|\\.)+)`|\bqx\s*(?:\{([^}]+)\}|\(([^)]+)\)|\/((?:[^/\\]|\\.)+)\/|\|([^|]+)\||\[([^\]]+)\]|<([^>]+)>|([!#'"])([^]+?)\8)|%x(?:\{([^}]+)\}|\(([^)]+)\)|\[([^\]]+)\]|([!|/])([^]+?)\13)/g;
const STRING = /(?<![A-Za-z0-9])[rbuf]?(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')/y;
const HOME =
  /(?:os\.path\.)?expanduser\(\s*["']~["']\s*\)|Path\.home\(\)|require\(["'](?:node:)?os["']\)\.homedir\(\)|os\.homedir\(\)|homedir\(\)|process\.env\.HOME|process\.env\[["']HOME["']\]|os\.environ\[["']HOME["']\]|os\.environ\.get\(["']HOME["']\)|os\.getenv\(["']HOME["']\)|Dir\.home|ENV\[["']HOME["']\]|\$ENV\{["']?HOME["']?\}|getenv\(["']HOME["']\)/g;
const FORKS =
  /\bfork\b[^;]{0,40}\b(?:while|until)\b[^;]{0,40}\b(?:fork|1|true)|\b(?:while|for|loop|until)\b[^;]{0,60}\bfork\b|while\s+fork/i;
/** Calls that run a text, other than one that is spelled out between their brackets. */
const EVALUATES =
  /\b(?:eval|exec|compile|instance_eval|class_eval|loadstring|Function|vm\.runIn\w+)\s*\(?\s*(?![)"'\w ]{0,200}["'][^"']{0,200}["']\s*\))/g;
const DECODES =
  /decode|unhexlify|fromhex|from\(|atob|pack\(|unpack|chr\(|fromCharCode|rot13|decompress|b64|base64|[;\n]/g;
const HIDES_MODULE = /__import__\(\s*["'](?:os|subprocess|shutil)|getattr\(\s*(?:os|shutil|subprocess|__import__)/;

/** How the shell says what a loop of forks does. */
export const FORK_BOMB = ":(){ :|:& };:";
const MAX_TEXTS = 32;
/** How far behind a call's bracket its arguments are looked for. */
const MAX_REACH = 400;

/**
 * Finds destructive calls that are spelled out: `os.system("…")`, `shutil.rmtree("/")`, `fs.rmSync("/")`. Code that
 * does the same in another way is contained by the sandbox, like the code in a file.
 */
export function readCode(code: string): CodeFound {
  const plain = code.replace(HOME, '"~"');
  const texts: string[] = [];
  const commands: (readonly ShellWord[])[] = [];
  const targets: string[] = [];
  for (const list of argumentsAfter(plain, STARTS)) {
    const [first, ...rest] = list.texts;
    if (first === undefined) continue;
    if (rest.length === 0 || /\s/.test(first)) texts.push(first);
    else commands.push(list.texts.map((text) => knownWord(text)));
  }
  for (const list of argumentsAfter(plain, DELETES)) {
    const path = list.texts.length === 0 ? { ...knownWord(""), isDynamic: true } : knownWord(pathOf(list.texts));
    commands.push([knownWord("rm"), knownWord("-rf"), path]);
  }
  for (const {
    texts: [path],
  } of argumentsAfter(plain, DELETES_ONE)) {
    if (path !== undefined && /\b(?:unlink|remove|delete)/.test(plain))
      commands.push([knownWord("rm"), knownWord("-f"), knownWord(path)]);
  }
  for (const {
    texts: [path, mode],
    name,
  } of argumentsAfter(plain, OPENS)) {
    if (path !== undefined && (/write|append|put/i.test(name) || /^[rb]*[wax+]|^>/.test(mode ?? "")))
      targets.push(path);
  }
  for (const [, ...groups] of plain.matchAll(BACKTICKS)) {
    const text = groups.findLast((each) => each !== undefined);
    texts.push(text ?? "");
  }
  for (const [, text = ""] of plain.matchAll(RUNS_ITSELF)) texts.push(text);
  for (const [, one, two] of plain.matchAll(DELETES_DEEPLY)) {
    commands.push([knownWord("rm"), knownWord("-rf"), knownWord(one ?? two ?? "")]);
  }
  for (const text of startsAny(plain) ? decodedTexts(plain) : []) {
    const inner = readCode(text);
    if (inner.texts.length + inner.commands.length === 0) texts.push(text);
    texts.push(...inner.texts);
    commands.push(...inner.commands);
  }
  if (FORKS.test(plain)) texts.unshift(FORK_BOMB);
  const isTooMuch = texts.length + commands.length + targets.length > MAX_TEXTS;
  const opaque = isTooMuch
    ? "the code starts more than can be looked at"
    : isDisguised(plain)
      ? "the code runs a text that it makes itself"
      : STARTS_UNKNOWN.test(plain)
        ? "the code starts a program that is known only when it runs"
        : undefined;
  return {
    texts: texts.slice(0, MAX_TEXTS),
    commands: commands.slice(0, MAX_TEXTS),
    targets: targets.slice(0, MAX_TEXTS),
    opaque,
  };
}

/** What starts programs or runs texts, and is named for nothing else. */
const STARTS_SURELY =
  /(?<![.\w])(?:system|exec|eval|popen|spawn|passthru|shell_exec)\b|\bsubprocess\b|\bchild_process\b|\b(?:os|io)\.(?:system|popen|execute|exec\w+)|\b(?:execSync|spawnSync|Popen)\b|(?<![\w\\])`[^`]*`|\bqx\b|%x[^\w\s]/;

/** Whether the code starts programs or runs texts at all. */
function startsAny(code: string): boolean {
  return RUNS_ANYTHING.test(code);
}

const RUNS_ANYTHING =
  /\b(?:system|exec\w*|popen\w*|spawn\w*|shell\w*|passthru|subprocess|Popen|eval|sh|cmd)\b|`|\bqx\b|%x/;

/** Whether a text is made, in the same statement, for a call that runs it. One pass over each: code may hold thousands. */
function isDisguised(code: string): boolean {
  if (HIDES_MODULE.test(code)) return true;
  if (STARTS_SURELY.test(code) && isDecoding(code)) return true;
  const made = Array.from(code.matchAll(DECODES), ({ 0: text, index }) => ({ index, isEnd: /[;\n]/.test(text) }));
  let next = 0;
  for (const { 0: text, index } of code.matchAll(EVALUATES)) {
    const from = index + text.length;
    while ((made[next]?.index ?? Infinity) < from) next++;
    if (made[next]?.isEnd === false) return true;
  }
  return false;
}

/** `os.path.join("/", "home")` and the like: what they lead to. */
function pathOf(texts: readonly string[]): string {
  return texts.filter((text) => !/^(?:recursive|force|utf-?8)$/i.test(text)).join("/");
}

interface CallFound {
  readonly name: string;
  readonly texts: readonly string[];
}

/** The texts in quotes among the arguments of each call that a shape finds. */
function* argumentsAfter(code: string, shape: RegExp): Generator<CallFound> {
  let count = 0;
  for (const match of code.matchAll(shape)) {
    if (++count > MAX_TEXTS * 2) return;
    yield { name: match[0], texts: textsFrom(code, match.index + match[0].length) };
  }
}

function textsFrom(code: string, from: number): readonly string[] {
  const texts: string[] = [];
  let isJoined = false;
  const end = Math.min(code.length, from + MAX_REACH);
  let open = 0;
  for (let at = from; at < end;) {
    STRING.lastIndex = at;
    const found = STRING.exec(code);
    if (found !== null) {
      const text = unescapeString(found[1] ?? found[2] ?? "");
      // `"rm" + " -rf /"` is one text.
      if (isJoined) texts.push((texts.pop() ?? "") + text);
      else texts.push(text);
      at += found[0].length;
      JOINT.lastIndex = at;
      const joint = JOINT.exec(code)?.[0] ?? "";
      isJoined = joint !== "";
      at += joint.length;
      continue;
    }
    const character = code.charAt(at++);
    isJoined = false;
    if ("([{".includes(character)) open++;
    else if (")]}".includes(character) && --open < 0) break;
    else if (character === ";" || character === "\n") break;
  }
  return texts;
}

/** What joins two texts in quotes in one language or another. */
const JOINT = /\s*(?:\+|\.|~|<>|\.\.)\s*(?=["'])/y;

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unescapeString(text: string): string {
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|(["'\\/`ntr]))/g, (_, hex, plain) =>
    typeof hex === "string" ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[String(plain)] ?? String(plain)),
  );
}
