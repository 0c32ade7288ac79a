import { CODE } from "../text/character-sets.ts";
import { claimOf, splitName } from "./names.ts";
import type { Claim } from "./names.ts";
import type { Name, Place } from "./value-places.ts";
import { codeBefore, leftOf } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

const PARSER_ERROR = /(?:bad|current|expected|illegal|invalid|missing|next|parse|stray|unexpected|unknown) $/i;

/** The name's claim in its context. Some names mean something else in some contexts. */
export function claimIn(view: View, name: Name, place: Place): Claim | undefined {
  if (isRandom(view, name, place)) return undefined;
  const lower = name.text.toLowerCase();
  if (lower === "key" || lower === "keys") return claimOfKey(view, name);
  const claim = claimOf(name.text.replace(/^(?:.*\.)?(?:set|with)(?=[A-Z])/, ""));
  if (claim !== undefined && (place.isCell === true || isConstantKey(view, name, claim))) return weaken(claim);
  if (place.isCompared === true && (claim?.noun === "token" || claim?.noun === "key")) {
    return { ...claim, strength: "random" };
  }
  // "pass: 12" and "PASS: test.ts" are test results; `-passin pass:x` and "pass": "x" are not.
  if (lower === "pass" && place.sign === ":" && !place.isNameQuoted) {
    return /-pass(?:in|out)?[ =]$/.test(leftOf(view, name.start, 12)) ? claim : undefined;
  }
  if (claim !== undefined && lower === "token" && PARSER_ERROR.test(leftOf(view, name.start, 16))) {
    return weaken(claim);
  }
  return claim;
}

/** `const SIDEBAR_KEY = "sidebar"`: in code, most keys are names. */
function isConstantKey(view: View, name: Name, { noun }: Claim): boolean {
  if (noun !== "key" || SURELY_SECRET.test(splitName(name.text).at(-2) ?? "")) return false;
  return /\b(?:const|let|var|val|final|static|String|string)\s+$/.test(leftOf(view, name.start, 12));
}

/** Requires more of the value than the name alone does. */
export function weaken(claim: Claim): Claim {
  return { ...claim, strength: claim.strength === "any" ? "assigned" : "random", isUpper: false };
}

/** Base64 that happens to end in "pw=" or "key=" is not a name. */
function isRandom(view: View, { start, text }: Name, { sign, isSpaced }: Place): boolean {
  const numbers = text.match(/\d+/g)?.length ?? 0;
  if (text.length > 20 && numbers >= 3 && /[a-z]/.test(text) && /[A-Z]/.test(text)) return true;
  if (sign !== "=" || !isSpaced) return false;
  const before = codeBefore(view, start);
  return before === CODE.plus || before === CODE.slash || (text.length > 20 && numbers > 0 && /[a-z][A-Z]/.test(text));
}

/** A lone "key" is a secret's name if the word before it says so ("API key: x"), or in a URL (`?key=x`). */
function claimOfKey(view: View, name: Name): Claim | undefined {
  const word = /(?<![\w-])([A-Za-z]{2,16}) $/.exec(leftOf(view, name.start, 20))?.[1];
  const claim = word === undefined ? undefined : claimOf(`${word}_key`);
  if (claim !== undefined) return SURELY_SECRET.test(word ?? "") ? claim : { ...claim, strength: "random" };
  const before = codeBefore(view, name.start);
  if (before !== CODE.question && before !== CODE.ampersand) return undefined;
  return { noun: "key", strength: "random", isUpper: false, isPlural: false };
}

const SURELY_SECRET = /^(?:api|access|secret|private|encryption)$/i;
