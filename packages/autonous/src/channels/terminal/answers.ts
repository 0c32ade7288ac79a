import { REDACTION_MARKER, makeVisible } from "@autonous/runtime/internal";
import type { ApprovalRequest } from "@autonous/runtime";
import type { Screen } from "./screen.ts";
import { foldHard, wrap } from "../words/width.ts";

/** Scopes that a grant may have beyond the one call. */
export type LongScope = "run" | "session";

/** What a line that a person typed means. */
export type Answer =
  | { readonly kind: "grant"; readonly scope: "call" }
  | { readonly kind: "grant"; readonly scope: LongScope; readonly offer: string }
  | { readonly kind: "deny"; readonly reason: string }
  | { readonly kind: "edit" | "all" | "help" | "nothing" | "unclear" };

export interface Choices {
  readonly offers: ApprovalRequest["offers"];
  readonly scopes: readonly LongScope[];
  readonly canEdit: boolean;
}

/** "all" shows the whole request and grants nothing; the word for `a` is "always". */
const WORDS = { y: "yes", a: "always", n: "no", r: "run", s: "session", e: "edit", d: "all", "?": "help" } as const;
const SCOPES = { r: "run", s: "session" } as const;
const MAX_REASON = 2000;

/** Only a complete answer counts: a line that merely begins with "y" does not. */
export function readAnswer(line: string, { offers, scopes, canEdit }: Choices): Answer {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  const no = /^(?:no|n)(?:[\s,:]+(?<reason>.*))?$/isu.exec(text);
  if (no !== null) return { kind: "deny", reason: (no.groups?.["reason"] ?? "").trim().slice(0, MAX_REASON) };
  const key = text.toLowerCase();
  if (isKey(key, "y")) return { kind: "grant", scope: "call" };
  if (isKey(key, "a")) return widestGrant({ offers, scopes }) ?? { kind: "unclear" };
  if (isKey(key, "e")) return { kind: canEdit ? "edit" : "unclear" };
  if (isKey(key, "d")) return { kind: "all" };
  if (isKey(key, "?") || key === "h") return { kind: "help" };
  const long = /^(?<letter>[rs])(?<number>\d{1,2})?$/.exec(shorten(key))?.groups;
  const scope = SCOPES[long?.["letter"] as keyof typeof SCOPES];
  const offer = offers[Number(long?.["number"] ?? 1) - 1];
  if (long === undefined || offer === undefined || !scopes.includes(scope)) return { kind: "unclear" };
  return { kind: "grant", scope, offer: offer.offer };
}

function isKey(text: string, key: keyof typeof WORDS): boolean {
  return text === key || text === WORDS[key];
}

function shorten(text: string): string {
  return text.replace(/^run\s*/, "r").replace(/^session\s*/, "s");
}

type Offer = Choices["offers"][number];

/** Users do not read longer offers before they press a key. */
const MAX_EXPLAINED = 240;

/** What `a` grants: the widest offer whose text is fully shown, for the longest scope allowed here. */
function widestGrant({ offers, scopes }: Pick<Choices, "offers" | "scopes">): LongGrant | undefined {
  const offer = offers.findLast(isExplained);
  const scope = scopes.find((each) => each === "session") ?? scopes[0];
  return offer === undefined || scope === undefined ? undefined : { kind: "grant", scope, offer: offer.offer };
}

type LongGrant = Extract<Answer, { offer: string }>;

/** Truncated or redacted text does not say how far the grant goes. `?` still lists such an offer. */
function isExplained({ words }: Offer): boolean {
  return words.length <= MAX_EXPLAINED && !words.includes(REDACTION_MARKER);
}

const FOR = { run: "the rest of this run", session: "the rest of this session" } as const;
const NARROWEST = 24;

type Page = Pick<Screen, "columns" | "paint">;

/** The possible answers, one per line. */
export function choiceLines(choices: Choices, page: Page): readonly string[] {
  const widest = widestGrant(choices);
  const words = choices.offers.find(({ offer }) => offer === widest?.offer)?.words;
  return rowLines(
    [
      { key: "y", text: "yes, this once" },
      ...(widest === undefined ? [] : [{ key: "a", text: `yes, and for ${FOR[widest.scope]}: ${words}` }]),
      { key: "n", text: "no; text after it goes to the model as the reason" },
      ...(choices.canEdit ? [{ key: "e", text: "edit the arguments, then yes" }] : []),
      { key: "d", text: "show the full request" },
      { key: "?", text: choices.scopes.length === 0 ? "help and the full digest" : "help and all choices" },
    ],
    page,
  );
}

/** Every offer with its key, the narrowest first. */
function offerRows({ offers, scopes }: Choices): readonly Row[] {
  return scopes.flatMap((scope) =>
    offers.map(({ words }, i) => ({
      key: `${scope.slice(0, 1)}${i === 0 ? "" : i + 1}`,
      text: `yes, and for ${FOR[scope]}: ${words}`,
    })),
  );
}

interface Row {
  readonly key: string;
  readonly text: string;
}

function rowLines(rows: readonly Row[], { columns = 80, paint }: Page): readonly string[] {
  return rows.flatMap(({ key, text }) => {
    const lines = wrap(makeVisible(text), Math.max(NARROWEST, columns - 6));
    return lines.map((line, i) => (i === 0 ? `  ${paint("bold", key.padEnd(3))} ${line}` : `      ${line}`));
  });
}

/** Every key that is an answer. */
export function keysOf(choices: Choices): string {
  const widest = widestGrant(choices) === undefined ? [] : ["a"];
  const long = offerRows(choices).map(({ key }) => key);
  return ["y", ...widest, ...long, "n", ...(choices.canEdit ? ["e"] : []), "d", "?"].join(", ");
}

const HELP = [
  "A yes allows exactly this call, once: these arguments, and the files as they are now.",
  "A longer yes allows what its line says and nothing else; a picks the widest. autonous approvals grants lists grants, autonous approvals revoke ends one.",
  "Ctrl-D means no. Ctrl-C cancels the call without an answer; a second Ctrl-C stops the run.",
] as const;

/** The text for `?`: every offer with its key, what the answers mean, and the digest that a grant is bound to. */
export function helpLines(choices: Choices, digest: string, page: Page): readonly string[] {
  const width = Math.max(NARROWEST, page.columns ?? 80);
  return [
    ...rowLines(offerRows(choices), page),
    ...HELP.flatMap((line) => wrap(line, width)),
    ...foldHard(`digest ${makeVisible(digest)}`, width),
  ];
}
