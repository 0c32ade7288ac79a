import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { CAMEL, CONSTANT, hasNoun } from "./names.ts";

/** Whether a value refers to another one or to nothing, whatever its name: `${TOKEN}`, `<token>`, `xxx`. */
export function isPlaceholderOrReference(text: string): boolean {
  const judged = unmarked(text);
  return judged === undefined || isPlaceholder(judged) || isReference(judged, true);
}

/** Replaces a redaction while judging: no rule takes it for a name or placeholder; in a sentence, it is a word. */
const SOME_SECRET = "qwzk7xjvm";
const SOME_WORD = "hidden";
const ESCAPES = /\\+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrt])?|%[0-9a-fA-F]{2}|&#?\w{1,8};|\u001b\[[\d;]{0,12}m/g;

/**
 * A value directly followed by a marker, as it was before a secret was replaced there: a marker is ordinary text, and
 * the text before it is judged all the same. Undefined if the value, a later word of it, or a pair in it was
 * redacted: a marker begins it.
 */
export function unmarked(text: string, secret?: string): string | undefined {
  const at = text.indexOf(REDACTION_MARKER);
  if (at < 0) return text;
  const before = text.slice(0, at);
  // A key after the marker, with the spaces in it, will be one more.
  if (/\s/.test(text.replace(/-----BEGIN.*$/s, ""))) {
    const isWhole = text
      .split(REDACTION_MARKER)
      .slice(0, -1)
      .every((part) => endsInWord(part));
    return isWhole ? text.replaceAll(REDACTION_MARKER, secret ?? SOME_WORD) : undefined;
  }
  const plain = before.replaceAll(ESCAPES, "\\");
  const isPart = /[\p{L}\p{N}]/u.test(withoutPair(plain)) && !/[\\"'`]$/.test(plain);
  return isPart ? before + (secret ?? SOME_SECRET) : undefined;
}

/** The name and sign of another secret, at the end: the marker is the value of that one. */
function withoutPair(text: string): string {
  const name = /([\w.-]{1,64})[=:>]$/.exec(text)?.[1];
  if (name === undefined) return text;
  const before = text.slice(0, -name.length - 1);
  // `sid=`, `userName:`; not base64 with its padding.
  const isName = before === "" && (/^(?:[a-z_.-]+|[A-Z_.-]+)$/.test(name) || CAMEL.test(name));
  const isSecret = hasNoun(name) || /(?:auth|cred|key|pass|pwd?|secret|token|word)$/i.test(name);
  return isName || isSecret ? before : text;
}

/** Whether it ends in a word, or the beginning of one, that is not an option: `-pM` was redacted. */
function endsInWord(text: string): boolean {
  return /[\p{L}\p{N}]$/u.test(text.replaceAll(ESCAPES, "\\")) && !/(?:^|\s)-\S*$/.test(text);
}

const PLACEHOLDERS: readonly RegExp[] = [
  /^[xX*•.…#?_=~:+-]+$/,
  /^(.)\1+$/s,
  /^your(?:[-_ ]|access|api|client|key|own|password|secret|token)/i,
  /^(?:change|replace)[-_ ]?(?:me|this|it)(?![a-z]*\d)/i,
  /^(?:change|replace|insert|enter|put|fill|paste|set)[-_ ](?:with|your|in|here|the|an?|token|key|password|secret)(?![a-z]*\d)/i,
  /[-_ ]here$/i,
  /^(?:example|sample|dummy|placeholder|fake)[a-z_ -]*$/i,
  /^.{0,21}(?:\.\.\.|…)$/s,
  /^\(.*\)$/s,
];

export function isPlaceholder(text: string): boolean {
  return PLACEHOLDERS.some((each) => each.test(text));
}

const REFERENCES: readonly RegExp[] = [
  /^\$[A-Z_][A-Z0-9_]*$|^\$[A-Za-z_]+$/,
  /^\$\$?[{([]/,
  /^%[A-Za-z_]\w*%$/,
  /^%(?:\(\w+\))?[-+#0]?\d*[a-zA-Z]$/,
  /^\{\{|^\{[\w.:!-]*\}$|^<[^>]*>|^\[[^\]]*\]$|^#\{|^@\{/,
  /^(?:arn|env|file|gcp-sm|keychain|keyring|op|ref|secretsmanager|sops|ssm|vault):/i,
  /^ENC\[/,
];
/** Template placeholders: `${name}`, `{{ name }}`, `#{name}`, `$(command)`, `<%= name %>`, `%s`, `{0}`. */
const INSERTION =
  /\$\{[\w\s.:?|"'()[\]+,/-]{0,200}\}|\{\{[\w\s.$|"'()-]{1,100}\}\}|#\{[\w\s.()]{1,100}\}|\$\([^)]{0,200}\)|<%|(?:^|[\s:/=])%s|\{\d?\}/;

export function isReference(text: string, isQuoted: boolean): boolean {
  if (REFERENCES.some((each) => each.test(text))) return true;
  if (isQuoted && (INSERTION.test(text) || /^[\w -]*\{\w*\}$/.test(text))) return true;
  if (!isQuoted && /^<[^>]*$|^\$\w+$/.test(text)) return true;
  return CONSTANT.test(text) && hasNoun(text);
}

const DECIMAL = /^[-+]?\d[\d_,]*\.\d+$|^[-+]?\d+(?:\.\d+)?[eE][-+]?\d+$|^0x[0-9a-fA-F]{1,16}$/;
const WITH_UNIT =
  /^\d{1,6}(?:\.\d+)?\s?(?:ns|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|y|years?|[kmgt]i?b?|px|r?em|v[hw]|pt|fr|deg|%)$/i;
const VERSION =
  /^[v^~<>=*\dx|\s.-]*\d\.[\dx*][v^~<>=*\dx|\s.-]*(?:[-+](?:alpha|beta|build|canary|dev|final|incompatible|next|post|pre|rc|release|snapshot)[\w.+-]*)?$/i;
const SHIFT_OR_COLOUR = /^\d+\s?<<|^#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ][\d:.,+Z-]*)?$/;

/** Decimal numbers, durations, sizes, versions, dates, colours. */
export function isMeasure(text: string): boolean {
  return (
    DECIMAL.test(text) || WITH_UNIT.test(text) || VERSION.test(text) || DATE.test(text) || SHIFT_OR_COLOUR.test(text)
  );
}

const ADDRESS = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;
const PATH = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/](?:[\w@.+~ -]*[\\/])*[\w@.+~-]*$/;
const FILE =
  /\.(?:asc|age|cer|cfg|conf|crt|csv|enc|env|go|gpg|html|ini|java|jks|js|json|kdbx|key|log|md|p12|pem|pfx|py|rs|sh|sql|toml|tsx?|txt|xml|ya?ml)$/i;

/** A URL, a path or a file: the location of a secret, not the secret. */
export function isPlace(text: string): boolean {
  if (ADDRESS.test(text)) return true;
  if (FILE.test(text) && /^[\w@.~+\\/:-]+$/.test(text)) return true;
  // "/a1B2" is not a real path.
  if (/^[\\/][^\\/]*$/.test(text) && !/^.[a-z-]*$/.test(text)) return false;
  return PATH.test(text) && !text.split(/[\\/]/).some(isRandomPart);
}

/** A part of base64 rather than a name: capitals in the middle of words. */
function isRandomPart(part: string): boolean {
  return (
    part.length >= 10 && /^[A-Za-z0-9+]+$/.test(part) && /[a-z]/.test(part) && /[A-Z]/.test(part) && !CAMEL.test(part)
  );
}
