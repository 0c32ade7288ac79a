import { makeVisible } from "@autonous/runtime";
import type { ApprovalRequest } from "@autonous/runtime";
import type { Screen } from "./screen.ts";
import { wrap } from "./width.ts";

/** How long a yes may hold beyond the one call. */
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

const WORDS = { y: "yes", n: "no", r: "run", s: "session", e: "edit", d: "all", "?": "help" } as const;
const SCOPES = { r: "run", s: "session" } as const;
const MAX_REASON = 2000;

/** Nothing but a whole answer counts: a line that only begins like a yes is none. */
export function readAnswer(line: string, { offers, scopes, canEdit }: Choices): Answer {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  const no = /^(?:no|n)(?:[\s,:]+(?<reason>.*))?$/isu.exec(text);
  if (no !== null) return { kind: "deny", reason: (no.groups?.["reason"] ?? "").trim().slice(0, MAX_REASON) };
  const key = text.toLowerCase();
  if (isKey(key, "y")) return { kind: "grant", scope: "call" };
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

const FOR = { run: "the rest of this run", session: "the rest of this session" } as const;
const NARROWEST = 24;

/** What can be answered, one choice a line. */
export function choiceLines(
  { offers, scopes, canEdit }: Choices,
  screen: Pick<Screen, "columns" | "paint">,
): readonly string[] {
  const long = scopes.flatMap((scope) =>
    offers.map(({ words }, i) => ({
      key: `${scope.slice(0, 1)}${i === 0 ? "" : i + 1}`,
      text: `yes, and for ${FOR[scope]}: ${words}`,
    })),
  );
  const rows = [
    { key: "y", text: "yes, this once" },
    ...long,
    { key: "n", text: "no; what you write after it is told to the model" },
    ...(canEdit ? [{ key: "e", text: "edit the arguments, then yes" }] : []),
    { key: "d", text: "show all of it; ? explains" },
  ];
  return rows.flatMap(({ key, text }) => {
    const lines = wrap(makeVisible(text), Math.max(NARROWEST, (screen.columns ?? 80) - 6));
    return lines.map((line, i) => (i === 0 ? `  ${screen.paint("bold", key.padEnd(3))} ${line}` : `      ${line}`));
  });
}

/** What `?` says. */
export const HELP = [
  "A yes counts for exactly this call, once: these arguments, and files as they are now.",
  "A yes for longer lets through what its line says and nothing else. autonous approvals grants lists such grants, autonous approvals revoke ends one.",
  "Ctrl-D is a no. Ctrl-C takes the call back without an answer; a second Ctrl-C stops the run.",
] as const;
