import { argumentsAfter, MAX_TEXTS, withoutAliases } from "./code-arguments.ts";
import { runsUnknown, usesGiven } from "./code-evaluation.ts";
import { filesInCode } from "./code-files.ts";
import { knownWord } from "../parsed-shell.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { isProgramName } from "../programs/program-names.ts";

/** Effects on the machine that code in another language plainly has. */
export interface CodeEffects {
  /** Run as shell. */
  readonly texts: readonly string[];
  readonly commands: readonly (readonly ShellWord[])[];
  /** Files opened for writing. */
  readonly targets: readonly string[];
  /** Code that may do more than was recognized: commands named in it count as possible. */
  readonly named: readonly string[];
  readonly opaque: string | undefined;
}

/** Calls that start a program: the first text is a command line, or a list of texts is its words. */
const STARTS =
  /(?:\b(?:system2?|popen[23]?|exec\w*|spawn\w*|shell\w*|passthru|proc_open|getoutput|getstatusoutput|check_output|check_call|check_run|run\w*|call|Popen|Command|ProcessBuilder|createProcess|callCommand|readProcess|os:cmd|[Cc]md|open_port|os\.execute|io\.popen|sh|execa|zx|\$)\s*\(|\b(?:system|exec|spawn|callCommand|shell_exec)\s+(?=["'q])|\(\s*(?:[\w.*+-]+[:/])*(?:shell-command[\w-]*|call-process[\w-]*|start-process[\w-]*|async-shell-command|run-program|launch-program|run-shell-command|system\*?|process\*?|sh|shell|compile|eshell-command)\s+)/g;
/** Text run by its own method: `"rm -rf x".execute()`, `"rm -rf x".!`. */
const RUNS_ITSELF = /"((?:[^"\\\n]|\\.)+)"\s*\.\s*(?:execute\s*\(|!!?|lazyLines|run\b)/g;
/** Of those, the calls that always start a program: without a literal it is unknown which one. */
const STARTS_UNKNOWN =
  /(?:\b(?:os|subprocess|child_process|cp|Kernel|IO|Process|Open3|popen2|pty|commands)\s*\.\s*(?:system|popen\w*|exec\w*|spawn\w*|run|call|check_output|check_call|Popen|getoutput|getstatusoutput|capture\w*)|(?<![.\w$>])(?:system|exec|popen|shell_exec|passthru|proc_open|spawn)|\b(?:execSync|execFileSync|spawnSync|execFile|os\.execute|io\.popen))(?:\s*\(\s*|\s+)(?!["'`)]|[rbuf]["']|\[?\s*["'`[]|q[qw]?\W|%w|@?\(?\s*["'])(?=[$@\w])/;
const BACKTICKS =
  /`((?:[^`\\$]|\\.)+)`|\bqx\s*(?:\{([^}]+)\}|\(([^)]+)\)|\/((?:[^/\\]|\\.)+)\/|\|([^|]+)\||\[([^\]]+)\]|<([^>]+)>|([!#'"])([^]+?)\8)|%x(?:\{([^}]+)\}|\(([^)]+)\)|\[([^\]]+)\]|([!|/])([^]+?)\13)/g;
const HOME =
  /(?:os\.path\.)?expanduser\(\s*["']~["']\s*\)|Path\.home\(\)|require\(["'](?:node:)?os["']\)\.homedir\(\)|os\.homedir\(\)|homedir\(\)|process\.env\.HOME|process\.env\[["']HOME["']\]|os\.environ\[["']HOME["']\]|os\.environ\.get\(["']HOME["']\)|os\.getenv\(["']HOME["']\)|Dir\.home|ENV\[["']HOME["']\]|\$ENV\{["']?HOME["']?\}|getenv\(["']HOME["']\)/g;
const FORKS =
  /\bfork\b[^;]{0,40}\b(?:while|until)\b[^;]{0,40}\b(?:fork|1|true)|\b(?:while|for|loop|until)\b[^;]{0,60}\bfork\b|while\s+fork/i;
/** Calls that run text other than a literal between their brackets. */
const EVALUATES =
  /\b(?:eval|exec|compile|instance_eval|class_eval|loadstring|Function|vm\.runIn\w+)\s*\(?\s*(?![)"'\w ]{0,200}["'][^"']{0,200}["']\s*\))/g;
const DECODES =
  /decode|unhexlify|fromhex|from\(|atob|pack\(|unpack|chr\(|fromCharCode|rot13|decompress|b64|base64|[;\n]/g;
const HIDES_MODULE = /__import__\(\s*["'](?:os|subprocess|shutil)|getattr\(\s*(?:os|shutil|subprocess|__import__)/;

/** The shell equivalent of a loop of forks. */
export const FORK_BOMB = ":(){ :|:& };:";
/**
 * Finds destructive calls with literal arguments: `os.system("…")`, `shutil.rmtree("/")`, `fs.rmSync("/")`. Code that
 * does the same in another way is contained by the sandbox, like the code in a file.
 */
export function readCode(code: string, language = ""): CodeEffects {
  const plain = withoutAliases(code.replace(HOME, '"~"'));
  const files = filesInCode(plain);
  const texts: string[] = [];
  const commands: (readonly ShellWord[])[] = [...files.commands];
  for (const list of argumentsAfter(plain, STARTS)) {
    const [first, ...rest] = list.texts;
    if (first === undefined || (list.name.startsWith("execute") && SQL.test(first))) continue;
    if (rest.length === 0 || /\s/.test(first)) texts.push(first);
    else commands.push(list.texts.map((text) => knownWord(text)));
  }
  for (const [, ...groups] of plain.matchAll(BACKTICKS)) {
    const text = groups.findLast((each) => each !== undefined);
    texts.push(text ?? "");
  }
  for (const [, text = ""] of plain.matchAll(RUNS_ITSELF)) texts.push(text);
  for (const text of startsAny(plain) ? decodedTexts(plain) : []) {
    const inner = readCode(text);
    if (inner.texts.length + inner.commands.length === 0) texts.push(text);
    texts.push(...inner.texts);
    commands.push(...inner.commands);
  }
  if (FORKS.test(plain)) texts.unshift(FORK_BOMB);
  const isTooMuch = texts.length + commands.length + files.targets.length > MAX_TEXTS;
  const opaque = isTooMuch
    ? "the code starts more programs than can be examined"
    : isDisguised(plain)
      ? "the code runs text that it generates"
      : startsUnknown(plain, language)
        ? "the code starts a program that is known only when it runs"
        : (runsUnknown(plain, language) ?? files.opaque);
  return {
    texts: texts.slice(0, MAX_TEXTS),
    commands: commands.slice(0, MAX_TEXTS),
    targets: files.targets.slice(0, MAX_TEXTS),
    named: files.named,
    opaque,
  };
}

/** `cursor.execute("select 1")`. */
const SQL =
  /^\s*(?:select|insert|update|delete|create|drop|alter|pragma|with|begin|commit|rollback|explain|vacuum|attach|replace)\b/i;

/** Names that only mean starting programs or running text. */
const STARTS_SURELY =
  /(?<![.\w])(?:system|exec|eval|popen|spawn|passthru|shell_exec)\b|\bsubprocess\b|\bchild_process\b|\b(?:os|io)\.(?:system|popen|execute|exec\w+)|\b(?:execSync|spawnSync|Popen)\b|(?<![\w\\])`[^`]*`|\bqx\b|%x[^\w\s]/;

/** Whether the code starts programs or runs text at all. */
function startsAny(code: string): boolean {
  return RUNS_ANYTHING.test(code);
}

const RUNS_ANYTHING =
  /\b(?:system|exec\w*|popen\w*|spawn\w*|shell\w*|passthru|subprocess|Popen|eval|sh|cmd)\b|`|\bqx\b|%x/;

/** Whether text is built, in the same statement, for a call that runs it. One pass each: there may be thousands. */
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

/** Calls that start a program, including aliases. */
const STARTER =
  /(?<![.\w"'])(?:system|exec|popen|spawn|passthru|shell_exec|proc_open|pcntl_exec)\b(?=\s*[(*@$,{]|\s+(?:ARGV|STDIN|ARGF|gets|shift|join)\b)|:(?:system|exec|spawn)\b|["'](?:system|exec|popen|spawn|passthru|shell_exec)["']\s*[,)\]]|\bsubprocess\b|\bchild_process\b|\b(?:os|io)\s*\.\s*(?:system|popen|execute|exec\w+|spawn\w*|posix_spawn\w*)|\b(?:execSync|spawnSync|Popen|create_subprocess_\w+|posix_spawnp?|Open3|ProcessBuilder|getRuntime)\b|\bqx\b|%x[^\w\s]|\bIO\s*\.\s*popen|\.\s*(?:system|popen|exec[lv]\w*|posix_spawn\w*|spawn[lv]\w*)\s*\(\s*(?!\))|\bSystem\s*\.\s*(?:cmd|shell)\b|\.execute\s*\(\s*\)|\.!!?\s*(?:[;)\n]|$)|\bsys\.process\b|\bDeno\s*\.\s*Command|\bBun\s*\.\s*(?:spawn|\$)|\bopen\b[^;\n]{0,120}(?:["']-\||\|-["']|["']\||\|["'])/;

/** A program that the code builds, reads or receives, even if only its arguments are. */
function startsUnknown(code: string, language: string): boolean {
  if (STARTS_UNKNOWN.test(code)) return true;
  if (/^(?:perl|ruby|jruby|php)$/.test(language) && /`\s*(?:\$|#\{|@)/.test(code)) return true;
  return STARTER.test(code) && usesGiven(code);
}

/** Functions that derive one text from another. */
const DECODERS =
  /b64|base64|decode|unhexlify|fromhex|from_?hex|atob|\bpack\b|unpack|\bchr\b|fromCharCode|fromCodePoint|rot_?13|decompress|inflate|gunzip|Buffer\.from|\bbytes\b|bytearray|reverse|\[::-1\]|\brev\b|\btr\//i;
const LITERAL = /"((?:[^"\\\n]|\\.){4,4000})"|'((?:[^'\\\n]|\\.){4,4000})'|\bq\w?[({[]([^)}\]\n]{4,4000})[)}\]]/g;
const NUMBERS = /(?:0x[0-9a-fA-F]{2}|\d{2,3})(?:\s*,\s*(?:0x[0-9a-fA-F]{2}|\d{2,3})){3,400}/g;
const MAX_DECODED = 16;

/**
 * What literals of a code stand for when they are decoded, in the ways that one-liners do it: base64, hexadecimal,
 * rot13, turned around, numbers of characters. Only what then begins with the name of a program, or is code that starts
 * one, counts.
 */
function decodedTexts(code: string): readonly string[] {
  if (!DECODERS.test(code)) return [];
  const found = new Set<string>();
  for (const [, one, two, three] of code.matchAll(LITERAL)) {
    const text = one ?? two ?? three ?? "";
    for (const decode of WAYS) {
      const made = decode(text);
      if (made !== undefined && startsProgram(made)) found.add(made);
    }
    if (found.size > MAX_DECODED) break;
  }
  for (const [list] of code.matchAll(NUMBERS)) {
    const text = String.fromCharCode(...list.split(",").map((each) => Number(each.trim())));
    if (startsProgram(text)) found.add(text);
  }
  return [...found].slice(0, MAX_DECODED);
}

/** Functions used only to derive one text from another. */
const SURE_DECODERS =
  /b64decode|base64_decode|decode64|decode_base64|a85decode|unhexlify|fromhex|from_hex|hex2bin|\batob\b|\bunpack1?\b|\bpack\s*\(|\.pack\b|fromCharCode|fromCodePoint|\bchr\s*[(,]|\bchr\b\s+for|rot_?13|decompress|inflate|codecs\.decode|["'](?:base64|hex)["']\s*\)|\[::-1\]|\breverse\b/i;

function isDecoding(code: string): boolean {
  return SURE_DECODERS.test(code);
}

const WAYS: readonly ((text: string) => string | undefined)[] = [fromBase64, fromHex, fromRot13, turned];

function startsProgram(text: string): boolean {
  if (!/^[\x20-\x7e\s]+$/.test(text)) return false;
  if (/\b(?:system|exec\w*|popen|spawn\w*|subprocess|rmtree|rmSync)\b/.test(text)) return true;
  return text.split(/[;&|\n({]+/).some((part) => isProgramName(/\S+/.exec(part)?.[0] ?? ""));
}

function fromBase64(text: string): string | undefined {
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(text)) return undefined;
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    // Not base64: the other encodings are tried.
    return undefined;
  }
}

function fromHex(text: string): string | undefined {
  if (text.length % 2 === 1 || !/^[0-9a-fA-F]+$/.test(text)) return undefined;
  return text.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)));
}

function fromRot13(text: string): string {
  return text.replace(/[a-zA-Z]/g, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

function turned(text: string): string {
  return Array.from(text).reverse().join("");
}
