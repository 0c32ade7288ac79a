/** Arguments are searched up to this far after a call's bracket. */
const MAX_REACH = 400;
export const MAX_TEXTS = 32;
const STRING = /(?<![A-Za-z0-9])[rbuf]?(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')/y;
/** Concatenation operators of the languages, between two quoted texts. */
const JOINT = /\s*(?:\+|\.|~|<>|\.\.)\s*(?=["'])/y;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

interface CallFound {
  readonly name: string;
  readonly texts: readonly string[];
}

/** The quoted texts among the arguments of each matching call. */
export function* argumentsAfter(code: string, shape: RegExp): Generator<CallFound> {
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

function unescapeString(text: string): string {
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|(["'\\/`ntr]))/g, (_, hex, plain) =>
    typeof hex === "string" ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[String(plain)] ?? String(plain)),
  );
}

/** At most this many names are looked up; code may contain thousands. */
const MAX_ALIASES = 16;
/** `import subprocess as s`, `const s = require("child_process")`, `import * as s from "fs"`: module aliases. */
const MODULE_ALIAS =
  /\b([A-Za-z_][\w.]{0,60})[ \t]+as[ \t]+([A-Za-z_]\w{0,60})|\b(?:const|let|var)\s+([A-Za-z_$][\w$]{0,60})\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*["'](?:node:)?([\w/]{1,60})["']\s*\)|\bimport\s+(?:\*\s*as\s+)?([A-Za-z_$][\w$]{0,60})\s+from\s*["'](?:node:)?([\w/]{1,60})["']/g;
/**
 * `from subprocess import call as c`, `import { spawn as s } from "child_process"`, `const { rmSync: r } =
 * require("fs")`.
 */
const MEMBERS =
  /\bfrom[ \t]+([\w.]{1,60})[ \t]+import[ \t]+\(?([\w*, \t]{1,200})|\b(?:const|let|var|import)\s*\{([^}]{1,200})\}\s*(?:=\s*(?:await\s+)?(?:require|import)\s*\(\s*|from\s*)["'](?:node:)?([\w/]{1,60})["']/g;
/** Names imported from a module are searched under the module's name. */
const STARTERS = ["call", "run", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "spawn"];

/** The code with its calls under their modules' names, whatever aliases it uses. */
export function withoutAliases(code: string): string {
  let plain = code;
  let count = 0;
  const rename = (from: string, to: string): void => {
    if (from === to || ++count > MAX_ALIASES) return;
    const name = from.replaceAll("$", String.raw`\$`);
    plain = plain.replace(new RegExp(String.raw`(?<![\w.$])${name}(?=\s*[.(])`, "g"), () => to);
  };
  for (const [, module, alias, named, required, imported, from] of code.matchAll(MODULE_ALIAS)) {
    const to = module ?? required ?? from ?? "";
    rename(alias ?? named ?? imported ?? "", to.replace(/^fs\/promises$/, "fs"));
  }
  for (const [, module = "", names = "", members = "", from = ""] of code.matchAll(MEMBERS)) {
    const to = module === "" ? from.replace(/^fs\/promises$/, "fs") : module;
    for (const member of (names === "*" ? STARTERS.join() : names || members).split(",")) {
      const [name = "", alias = name] = member.trim().split(/\s*(?:\bas\b|:)\s*/);
      if (/^[A-Za-z_$][\w$]*$/.test(name) && /^[A-Za-z_$][\w$]*$/.test(alias)) rename(alias, `${to}.${name}`);
    }
  }
  return plain;
}
