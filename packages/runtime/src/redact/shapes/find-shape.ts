import { CODE, isIn, isSpace, SETS, setOf } from "../text/character-sets.ts";
import type { DecodedPart } from "../encodings/encoded.ts";
import type { Tail } from "../text/extent.ts";
import type { Shape, SplitShape } from "./shapes.ts";
import { joinWrapped } from "./wrapped.ts";
import { beforeMarker, codeAt, codeBefore, leftOf, rightOf, runEnd } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A secret, as far as it had to be read to be certain. `tail` says how it continues. */
export interface SecretMatch extends Span {
  readonly tail?: Tail;
  /** Other secrets completely before this one that the same rule found. */
  readonly before?: readonly Span[];
  /** Other secrets may lie before and between these: reading continues after the matched word. */
  readonly isBeside?: true;
  /** The decoded text around; it must be scanned for secrets. */
  readonly decoded?: DecodedPart;
}

/** How many of a shape's characters its `check` receives. */
const CHECK_WINDOW = 96;

export function findShape(view: View, anchor: Span, shape: Shape): SecretMatch | undefined {
  const { start, end } = anchor;
  // The anchors ignore case.
  if (!view.text.startsWith(shape.prefix, start)) return undefined;
  if (shape.alone !== undefined && !standsAlone(view, start, shape.alone)) return undefined;
  const window = shape.check === undefined ? (shape.most ?? shape.least - 1) + 1 : CHECK_WINDOW;
  const stop = runEnd(view, end, { of: shape.of, window });
  const joined = joinShape(view, { end, stop, shape });
  if (joined !== undefined) return { start: shape.keepPrefix === true ? end : start, end: joined };
  if (view.short) return undefined;
  const count = stop - end;
  if (count < shape.least || count > (shape.most ?? Infinity)) return undefined;
  if (shape.check !== undefined && !shape.check.test(view.text.slice(end, stop))) return undefined;
  return { start: shape.keepPrefix === true ? end : start, end: stop, tail: { kind: "run", set: shape.of } };
}

/** The end of a token of this shape that is wrapped over lines. */
function joinShape(view: View, { end, stop, shape }: { end: number; stop: number; shape: Shape }): number | undefined {
  const { of, least, most = Infinity, size = Infinity, check } = shape;
  if (stop === end || stop - end >= size) return undefined;
  const judge = (text: string): boolean =>
    text.length <= most && (check === undefined || check.test(text.slice(0, CHECK_WINDOW)));
  const enough = Math.min(most + 1, Math.max(least, CHECK_WINDOW));
  const joined = joinWrapped(view, { from: end, at: stop, of, isWhole: stop - end >= least, enough, judge, size });
  return joined !== undefined && joined.text.length >= least && judge(joined.text) ? joined.end : undefined;
}

export function findSplitShape(view: View, anchor: Span, shape: SplitShape): SecretMatch | undefined {
  const { start, end } = anchor;
  if (!view.text.startsWith(shape.sign, start) || isSpace(codeBefore(view, start))) return undefined;
  const stop = runEnd(view, end, { of: shape.of, window: shape.window });
  if (stop === end || !shape.after.test(view.text.slice(end, stop + 1))) return undefined;
  const before = shape.before.exec(leftOf(view, start, 40));
  if (before === null) return undefined;
  const first = start - before[0].length;
  if (shape.joins !== true && !standsAlone(view, first)) return undefined;
  return { start: first, end: stop, tail: { kind: "run", set: shape.of } };
}

const UPPER_DIGITS = setOf("A-Z0-9");
/** Text between an AWS key id and its secret in logs, tables and configuration. */
const TO_AWS_SECRET =
  /^(?:[^A-Za-z0-9+/]{1,12}(?:[A-Za-z_ -]{3,32}[^A-Za-z0-9+/]{1,6})?)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/;

/** An AWS key id, and the secret key right after it, which has no shape itself. */
export function findAwsKey(view: View, { start, end }: Span): SecretMatch | undefined {
  const prefix = view.text.slice(start, end);
  if ((prefix !== "AKIA" && prefix !== "ASIA") || !standsAlone(view, start)) return undefined;
  const stop = runEnd(view, end, { of: UPPER_DIGITS, window: 21 });
  if (stop > end && stop - end < 16) {
    const joined = joinWrapped(view, { from: end, at: stop, of: UPPER_DIGITS, isWhole: false, size: 16 });
    return joined?.text.length === 16 ? { start, end: joined.end } : undefined;
  }
  if (stop - end < 16 || stop - end > 20 || isIn(SETS.word, codeAt(view, stop))) return undefined;
  const secret = TO_AWS_SECRET.exec(beforeMarker(rightOf(view, stop, 96)));
  if (secret === null || secret[0].includes("-----BEGIN") || !/\d/.test(secret[1] ?? "")) return { start, end: stop };
  const secretEnd = stop + secret[0].length;
  return { start: secretEnd - 40, end: secretEnd, before: [{ start, end: stop }] };
}

/** At most this much of each part of a token is read before deciding. */
const PART_WINDOW = 2048;

/** A JSON Web Token: base64url of `{"`, a dot, and so on. */
export function findJwt(view: View, { start, end }: Span): SecretMatch | undefined {
  if (!view.text.startsWith("eyJ", start) || !standsAlone(view, start)) return undefined;
  const whole = jwtEnd(view, end);
  const joined =
    whole === undefined ? undefined : joinWrapped(view, { from: start, at: whole, of: SETS.dotted, isWhole: false });
  if (joined !== undefined && /^eyJ[\w-]{7,}\.[\w-]{8,}\.[\w-]*/.test(joined.text)) return { start, end: joined.end };
  if (view.short) return undefined;
  const header = runEnd(view, end, { of: SETS.url64, window: PART_WINDOW });
  if (header - start < 10 || codeAt(view, header) !== CODE.dot) return undefined;
  const found: SecretMatch = { start, end: header + 1, tail: { kind: "run", set: SETS.dotted } };
  if (rightOf(view, header + 1, 3) === "eyJ") return found;
  const body = runEnd(view, header + 1, { of: SETS.url64, window: PART_WINDOW });
  // An encrypted one has an empty second part, or a key there.
  if (codeAt(view, body) !== CODE.dot || body - header === 2) return undefined;
  return runEnd(view, body + 1, { of: SETS.url64, window: 8 }) - body > 8 ? found : undefined;
}

/** Where the three parts of a token end on this line; undefined if they are too short. */
function jwtEnd(view: View, from: number): number | undefined {
  let end = from;
  for (let part = 0; part < 3; part++) {
    const stop = runEnd(view, end, { of: SETS.url64, window: PART_WINDOW });
    if (view.text.charCodeAt(stop) !== CODE.dot) return stop;
    if (stop - end < 7) return undefined;
    end = stop + 1;
  }
  return undefined;
}

const BASE64 = setOf("A-Za-z0-9+/=");

/** A private key in PEM, base64-encoded again, as in kubeconfig and Kubernetes Secrets. */
export function findEncodedKey(view: View, { start, end }: Span): SecretMatch | undefined {
  if (!view.text.startsWith("LS0tLS1CRUdJTi", start)) return undefined;
  const stop = runEnd(view, end, { of: BASE64, window: 64 });
  const head = view.text.slice(start, start + Math.floor((stop - start) / 4) * 4);
  if (head.includes("=") || !atob(head).includes("PRIVATE")) return undefined;
  return { start, end: stop, tail: { kind: "run", set: BASE64 } };
}

/** A letter or digit that ends an escape: `\n`, `%3D`, `\u0022`, a terminal color. */
const FOREIGN_END = /(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[[\d;]{0,12}m)$/;

/** Whether a match here is not the rest of a longer word. */
export function standsAlone(view: View, at: number, than: "letter" | "word" = "word"): boolean {
  if (!isIn(than === "word" ? SETS.url64 : SETS.alphanumeric, codeBefore(view, at))) return true;
  return FOREIGN_END.test(leftOf(view, at, 16));
}
