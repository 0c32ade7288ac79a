/** Every quirk by its name. */
import type { FormatName } from "../formats/format.ts";
import { ANSWERS } from "./answers.ts";
import type { Quirk } from "./quirk.ts";
import { REPLIES } from "./replies.ts";
import { TEXT_CALLS } from "./text-calls.ts";

type TextCallName = keyof typeof TEXT_CALLS;
export type QuirkName = TextCallName | keyof typeof REPLIES | keyof typeof ANSWERS;

function textCall(name: TextCallName): Quirk {
  const { about, form } = TEXT_CALLS[name];
  return {
    about: `a call as text: ${about}`,
    client: "uses it",
    change: (reply) =>
      reply.calls.length === 0
        ? reply
        : { ...reply, text: [reply.text, form(reply.calls)].filter((each) => each !== "").join("\n\n"), calls: [] },
  };
}

const TEXTS = Object.fromEntries(
  Object.keys(TEXT_CALLS).map((name) => [name, textCall(name as TextCallName)]),
) as unknown as Readonly<Record<TextCallName, Quirk>>;

export const QUIRKS: Readonly<Record<QuirkName, Quirk>> = { ...TEXTS, ...REPLIES, ...ANSWERS };

export const QUIRK_NAMES = Object.keys(QUIRKS) as unknown as readonly [QuirkName, ...QuirkName[]];

export function isQuirk(name: string | undefined): name is QuirkName {
  return name !== undefined && Object.hasOwn(QUIRKS, name);
}

/** The quirks that servers of a format are known for. */
export function quirksOf(format: FormatName): readonly QuirkName[] {
  return QUIRK_NAMES.filter((name) => QUIRKS[name].formats?.includes(format) ?? true);
}
