import { isUserAndPassword } from "../shapes/base64.ts";
import { CAMEL, CONSTANT, hasNoun, isNoun } from "./names.ts";
import type { Claim, Noun } from "./names.ts";
import { isMeasure, isPlace, isPlaceholder, isReference, unmarked } from "./placeholders.ts";

/** A value under a secret's name: the secret itself, or code, a reference, a placeholder, a type? */
export interface Candidate {
  readonly text: string;
  /** The name, as written. */
  readonly name: string;
  readonly claim: Claim;
  readonly isQuoted: boolean;
  /** The sign between name and value. `flag`: none, as in `--token x` and `ENV TOKEN x`. */
  readonly sign: "=" | ":" | "flag";
  /** There are spaces around the sign, as in code, INI and TOML, not in an environment. */
  readonly isSpaced: boolean;
  /** Its name begins a line, as in settings rather than in code. */
  readonly isLine: boolean;
  /** It is one of several pairs in a row: `Server=a;Pwd=b`, `?user=a&token=b`. */
  readonly isListed: boolean;
  /** The text after the value on its line: a few characters. */
  readonly after: string;
}

const SHORTEST = 4;

export function isSecretValue(written: Candidate): boolean {
  const text = unmarked(written.text);
  if (text === undefined || text.length < SHORTEST) return false;
  const candidate = text === written.text ? written : { ...written, text };
  const { isQuoted } = candidate;
  // Judged alone: a secret next to it would make anything look random.
  if (!isStrongEnough({ ...candidate, text: unmarked(written.text, "") ?? "" })) return false;
  if (!isQuoted && /^[^\x00-\x7f]+$/.test(text)) return false;
  const core = isQuoted ? text : text.replace(/[)\]}.,;:!?]{1,4}$/, "");
  if (isPlaceholder(core) || isReference(text, isQuoted) || isMeasure(core) || isPlace(core)) return false;
  if (PLAIN_VALUES.has(core.toLowerCase())) return false;
  if (INTEGER.test(core)) return isSecretNumber(core, candidate);
  return isQuoted ? isQuotedSecret(candidate) : isBareSecret(candidate, core);
}

/** Set as in an environment: NAME=value, NAME: value, --name value, name=value on a separate line. */
function isAssigned({ text, claim, sign, isSpaced, isLine, after }: Candidate): boolean {
  if (sign === "flag" || (claim.isUpper && (sign === ":" || !isSpaced))) return true;
  // `a.token=b.token,a.key=c` is minified code.
  return isLine && sign === "=" && !isSpaced && !CODE_AFTER.test(after) && !/^[\w$.]+[,;][\w$.]+=/.test(text);
}

function isStrongEnough(candidate: Candidate): boolean {
  const { claim, text, sign } = candidate;
  if (claim.strength === "any") return true;
  const isSet = sign === "flag" ? !claim.isPlural : claim.isUpper && isAssigned(candidate);
  if (claim.strength === "assigned" && isSet) return true;
  if (claim.noun === "auth" && (/^[\w.@-]{2,64}:[^\s/:]{4,}$/.test(text) || isUserAndPassword(text))) return true;
  return looksRandom(text, claim.strength);
}

const HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$/i;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** Letters and digits alternate more than in a name of words and numbers. */
const MANY_CHANGES = /[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]/;

/** A mix of letters and digits that no word, path, hash or identifier has. `assigned` requires less. */
function looksRandom(text: string, strength: Claim["strength"]): boolean {
  if (text.length < 6 || !/^[\x21-\x7e]+$/.test(text) || /[(){}[\]<>;,"'`|]/.test(text)) return false;
  if (/^sha\d{1,3}[-:]|^[\w$]+\.[\w$.]+=/.test(text)) return false;
  if (strength === "assigned") return !isWordy(text);
  if (text.length < 8 || !MANY_CHANGES.test(text) || HASH.test(text) || UUID.test(text)) return false;
  return !isWordy(text) && text.split(/[/:.]/).some((part) => part.length >= 8 && /\d/.test(part));
}

/** Words, possibly numbered: `sidebar-open`, `user.firstName`, `item_12`. */
export function isWordy(text: string): boolean {
  return text.split(/[-_.:/]+/).every((part) => /^(?:[A-Z]?[a-z]*|[A-Z]+)\d{0,3}$/.test(part) || CAMEL.test(part));
}

/** `TOKEN_TYPE = "IDENTIFIER"`: a parser's token type. */
function isKind(text: string, { claim, isSpaced }: Candidate): boolean {
  return claim.noun === "token" && isSpaced && CONSTANT.test(text);
}

const INTEGER = /^[-+]?\d[\d_,]*$/;

/** Digits are a password from 4 on, a token from 6 on, since fewer are a count. `token = 1048576` is code. */
function isSecretNumber(text: string, { claim, sign, isSpaced, isQuoted }: Candidate): boolean {
  if (claim.isPlural || claim.strength === "random" || !/^\d+$/.test(text)) return false;
  if (claim.noun === "password") return text.length >= SHORTEST;
  return text.length >= 6 && (isQuoted || claim.isUpper || sign !== "=" || !isSpaced);
}

function isQuotedSecret(candidate: Candidate): boolean {
  const { text, sign, isSpaced } = candidate;
  const { noun, isUpper } = candidate.claim;
  if (isKind(text, candidate)) return false;
  if (!/\s/.test(text)) return isUpper || !isLabel(text, noun);
  if (isUpper && sign === "=" && !isSpaced) return true;
  if (/passphrase/i.test(candidate.name) && !LABEL_WORDS.test(text)) return true;
  if (noun === "token" || noun === "key" || noun === "auth") return isUpper && !isProse(text);
  return !isProse(text);
}

/** Common in forms and messages about a passphrase, but not in passphrases. */
const LABEL_WORDS =
  /\b(?:enter|your|please|pass(?:phrase|word|code)s?|required?|invalid|must|optional|wrong|characters|key)\b|[?:]$/i;

/** `"password": "Password"`, `"token": "auth.token.title"`: a label or a dotted name. */
function isLabel(text: string, noun: Noun): boolean {
  if (/^[A-Za-z]+[:*]*$/.test(text) && isNoun(text.replace(/[:*]+$/, "").toLowerCase())) return true;
  const isDotted = /^[A-Za-z][A-Za-z_-]*(?:\.[A-Za-z][A-Za-z_-]*)+$/.test(text);
  // "mySecretPassword" may be a real password; as a token it is a name.
  const isName = (noun === "token" || noun === "key") && /^_?[A-Za-z]+(?:[A-Z][a-z]+)+$/.test(text);
  return (isDotted || isName) && hasNoun(text);
}

/**
 * Text for people: it contains words that passphrases are not made of. `fillers`: how many of them are required,
 * since a long text contains some by chance.
 */
export function isProse(text: string, fillers = text.length > 200 ? 3 : 1): boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .flatMap((each) => /^["'(]*([a-z]+(?:'[a-z]+)?)[)"'.,;:!?]*$/.exec(each)?.[1] ?? []);
  if (words.length < 2) return false;
  if (words.filter((each) => FILLERS.has(each)).length >= fillers) return true;
  return fillers === 1 && (words.length > 2 || /^[A-Z]/.test(text)) && words.some(isNoun);
}

const IDENTIFIER = /^\$?[A-Za-z_]\w*$|^\$?[A-Za-z_]+[!?]$/;
const CHAIN = /^\$?[A-Za-z_]\w*[!?]?(?:(?:\?\.|\.|::|->)[A-Za-z_]\w*[!?]?)+$/;
const CALL_OR_INDEX = /^[A-Za-z_$@&*!][\w$.:!?>-]*[([]/;
/** Where a value is expected rather than code, only a complete call counts as code. */
const WHOLE_CALL = /^[A-Za-z_][\w$.:]*\((?:.*\))?[;,]?$|^[A-Za-z_][\w.]*\[(?:["']\w+["']|\d+|:\w+)\]/;
const WELL_KNOWN_OBJECT =
  /^(?:app|args|auth|body|cfg|client|cls|conf|config|context|ctx|data|env|event|form|import|input|local|module|options|opts|os|params|process|props|req|request|res|response|secrets|self|session|settings|state|store|System|this|user|vars?|window)(?:\?\.|\.|::|->)/;
/** May follow a name in code, but not a value in a settings file. */
const CODE_AFTER = /^\s*(?:[;,)\]}([?<|&+*.]|=>|[!=]=)/;

function isBareSecret(candidate: Candidate, core: string): boolean {
  const { text, sign, after, isSpaced } = candidate;
  const { isUpper } = candidate.claim;
  const assigned = isAssigned(candidate);
  if (/^[{[(]/.test(text) || WELL_KNOWN_OBJECT.test(text)) return false;
  if ((assigned && sign !== ":" ? WHOLE_CALL : CALL_OR_INDEX).test(text) && !hasToken(text)) return false;
  if (sign === ":" && /^[A-Z]\w*</.test(text + after)) return false;
  if ((!assigned || sign === ":") && /^[|>!&*@`:?]/.test(text)) return false;
  if (/^\/[\^([\\.?*]/.test(text) || (sign === ":" && text.startsWith("#"))) return false;
  if (bareName(core) === bareName(candidate.name.slice(candidate.name.lastIndexOf(".") + 1))) return false;
  if (sign === "flag" && (FILLERS.has(core.toLowerCase()) || (!isUpper && /^[A-Z]{1,11}$/.test(core)))) return false;
  if (assigned && sign !== "flag" && !isUpper && CHAIN.test(core) && isNamedLikeCode(core)) return false;
  if (assigned) return !(sign === ":" && isSentence(core, after));
  // "a,b" in one word is a list in code; its first part decides.
  const head = /^[^,;]+(?=[,;])/.exec(core)?.[0] ?? core;
  const isCode = head !== core || CODE_AFTER.test(after);
  if (CHAIN.test(head)) return !(isCode || (sign === "=" && isSpaced) || isNamedLikeCode(head));
  return !(IDENTIFIER.test(head) && isCodeName(candidate, head, isCode));
}

/** Longer and more mixed than the name of a function. */
function hasToken(text: string): boolean {
  return /[\w-]{24}/.test(text) && MANY_CHANGES.test(text);
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/^_+/, "");
}

/** One word and then another, or the marker that replaced it. */
function isSentence(word: string, after: string): boolean {
  return /^[A-Za-z'-]+$/.test(word) && !word.includes("-----BEGIN") && /^[ \t]+(?:[A-Za-z(@]|\*\*\*R)/.test(after);
}

function isNamedLikeCode(text: string): boolean {
  return CAMEL.test(text) || text.split(/\.|::|->/).some((each) => CAMEL.test(each)) || hasNoun(text);
}

function isCodeName(candidate: Candidate, core: string, isCode: boolean): boolean {
  const { claim, sign, isSpaced, isListed, after } = candidate;
  const isSpacedEquals = sign === "=" && isSpaced && !claim.isUpper;
  if (claim.isUpper && (CONSTANT.test(core) || (isSpaced && CAMEL.test(core)))) return true;
  if (isNoun(core.toLowerCase())) return isCode || isSpaced || isListed || core.toLowerCase() === claim.noun;
  if (isListed) return false;
  if (isNamedLikeCode(core) && isCode) return true;
  if (/\d/.test(core)) return false;
  if (isNamedLikeCode(core) && isSpacedEquals) return true;
  if (isSentence(core, after) && (sign === ":" || isSpaced)) return true;
  if (CAMEL.test(core) && (hasNoun(core) || (/^[A-Z]/.test(core) && after !== ""))) return true;
  if (/^[A-Z].*[!?]$/.test(candidate.text)) return true;
  // A token or key without any digit is a variable; a password may well be a word.
  if (isSpacedEquals && (claim.noun !== "password" || core.includes("_")) && claim.noun !== "secret") {
    return !/(?:secret|password|passwd)$/.test(core);
  }
  return isCode && (sign === ":" || isSpaced);
}

/** Words for a kind of value, a state or a method, never for a secret. */
const PLAIN_VALUES = words(`
  absent active after allow any api_key apikey apitoken argon2 array arraybuffer ask async auto automatic await base64
  base64url basic bcrypt bearer before bigint binary blob body bool boolean boolval buffer byte bytea bytes bytestring
  changeit char checked class compat configured const cookie date datetime decimal default delete denied deny dict
  digest disabled double email empty enabled env error es256 expired export extends failed false file files filtered
  float focus forbidden form from function github gitlab google header hidden hmac hover hs256 iam import include
  inherit inline input int int64 integer invalid json jwt kerberos keychain keyof lambda ldap list manual map masked
  md5 missing mtls n/a never none not_set ntlm null number numeric oauth oauth2 object omit omitted openid option
  optional otherwise params placeholder plain plaintext present private prompt protected public query random read
  readonly redacted removed required return returns rs256 same-origin saml scram-sha-256 secretstr securestring self
  sha256 sha512 static stdin str string strings struct super symbol tbd text this todo true typeof uint8array
  undefined uninitialized unknown unset uuid valid value varchar vault void write yield`);

/** Common words of sentences, error messages and forms. */
const FILLERS = words(`
  a about add after all an and any are argument as at based be because been before but by can cannot characters
  contains could default did do does enter error example expired failed field file files flag for found from get given
  had has have if in instead into invalid is isn't it its least like may missing more must need needs no not of off on
  once one only option optional options or our out parameter please provide provided required reset rotated same
  should so some string such switch than that the their them then there these they this those to too type until up use
  used user users using value via was we were what when where which who will with within without would wrong you your`);

/** Whether a word is common in sentences, or denotes a kind of value. */
export function isPlainWord(text: string): boolean {
  const word = text.toLowerCase();
  return FILLERS.has(word) || PLAIN_VALUES.has(word) || isNoun(word);
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
