/** The answer to a request that is in order: a reply, or what a fault or a quirk makes of it. */
import { billOf } from "./books.ts";
import { spendsRound } from "./fault-kinds.ts";
import type { FaultKind } from "./fault-kinds.ts";
import type { Format, WireRequest } from "./formats/format.ts";
import type { Quirk, QuirkContext } from "./quirks/quirk.ts";
import { isQuirk, QUIRKS } from "./quirks/quirks.ts";
import type { QuirkName } from "./quirks/quirks.ts";
import { cutByLength, makeReply, tokensOf, withWideCharacter } from "./reply.ts";
import type { InputUsage, Reply } from "./reply.ts";
import type { Fault, Round } from "./script.ts";
import { forever, pause, sendPage, sendRefusal, sendStream, sendWhole } from "./send.ts";
import type { Sending } from "./send.ts";
import { bill } from "./state.ts";
import type { Door, SeenRequest, State } from "./state.ts";

interface Answer {
  readonly door: Door;
  readonly wire: WireRequest;
  readonly seen: SeenRequest;
  readonly sending: Sending;
  readonly input: InputUsage;
}

export async function answer(state: State, given: Answer): Promise<void> {
  const { door, wire, seen } = given;
  const { format } = door;
  const fault = state.plan.next(seen.round);
  if (fault !== undefined) seen.fault = fault.kind;
  const sending: Sending = { ...given.sending, fault };
  if (fault !== undefined && (await isOver(fault.kind, format, sending))) return;
  const context: QuirkContext = {
    conversation: format.conversation(wire),
    refusal: (trouble) => format.refusal(trouble),
    vendor: seen.vendor,
    tokens: tokensOf(seen.bytes),
  };
  const early = quirkOf(fault?.kind, format);
  if (early?.answer !== undefined) {
    if (early.billed) bill(state, seen, { ...given.input, output_tokens: FAILED_TOKENS });
    return await sendRefusal(early.answer(context), sending);
  }
  const round = await state.respond(wire, format, seen.round);
  if (round === undefined) {
    const message = `fake-model: the script is over, and this asks for round ${seen.round} of it`;
    return await sendRefusal(format.refusal({ kind: "invalid", problem: { message } }), sending);
  }
  if (fault === undefined && round.quirk !== undefined) seen.fault = round.quirk;
  const quirk = quirkOf(seen.fault, format);
  if (quirk?.answer !== undefined && !state.befallen.has(seen.round)) {
    state.befallen.add(seen.round);
    return await sendRefusal(quirk.answer(context), sending);
  }
  const made = makeReply(seen.violations.length > 0 ? STOPPED : round, { number: ++state.made, input: given.input });
  const changed = quirk?.change?.(made, context) ?? made;
  await send(state, { ...given, sending, quirk, reply: changedByFault(changed, fault) });
}

/** Of a reply that the server could not read: about what a call takes. */
const FAILED_TOKENS = 20;

/** What a model says that does not work any more: no calls. */
const STOPPED: Round = { text: "I will continue with the next step." };

function changedByFault(reply: Reply, fault: Fault | undefined): Reply {
  if (fault?.kind === "length") return cutByLength(reply);
  return fault?.kind === "cut_in_character" ? withWideCharacter(reply) : reply;
}

/** Throws where servers of a format are not known for it: a test of what cannot be would say nothing. */
function quirkOf(name: FaultKind | QuirkName | undefined, format: Format): Quirk | undefined {
  if (!isQuirk(name)) return undefined;
  const quirk = QUIRKS[name];
  if (quirk.formats?.includes(format.name) === false)
    throw new Error(`the quirk "${name}" is one of ${quirk.formats.join(", ")}, and this request is in ${format.name}`);
  return quirk;
}

interface Outgoing extends Answer {
  readonly quirk: Quirk | undefined;
  readonly reply: Reply;
}

async function send(state: State, { door, wire, seen, sending, quirk, reply }: Outgoing): Promise<void> {
  const { format } = door;
  const { response, fault } = sending;
  const answering = { request: wire, model: seen.model, pieces: piecesOf(state.options.piece_characters ?? 12) };
  const isSpent = fault === undefined || isQuirk(fault.kind) || spendsRound(fault.kind);
  const spend = (): void => {
    if (isSpent) state.spent = Math.max(state.spent, seen.round);
  };
  const onSent = (share: number): void => {
    bill(state, seen, billOf(reply, { share, format: format.name }));
    // Its end never comes: a client that has read all of it continues.
    if (quirk?.wire === "held_open") spend();
  };
  const isWhole = !seen.stream || quirk?.wire === "json" || quirk?.wire === "json_as_events";
  if (isWhole) {
    onSent(1);
    const type = quirk?.wire === "json_as_events" ? { type: format.streamType(wire) } : {};
    await sendWhole(format.whole(reply, answering), { ...sending, ...type });
  } else
    await sendStream(format.frames(reply, answering), {
      ...sending,
      holdsOpen: quirk?.wire === "held_open",
      type: format.streamType(wire),
      errorFrame: format.errorFrame(),
      onSent,
    });
  if (response.writableFinished) spend();
}

/** The faults before a reply: whether it ends with them. */
const EARLY_FAULTS: Partial<Record<FaultKind, (sending: Sending) => Promise<boolean> | boolean>> = {
  async slow_first_byte({ fault, signal }) {
    await pause(fault?.ms ?? 0, signal);
    return signal.aborted;
  },
  async hang(sending) {
    await forever(sending);
    return true;
  },
  reset({ response }) {
    response.socket?.resetAndDestroy();
    return true;
  },
  async wrong_content_type(sending) {
    await sendPage(sending);
    return true;
  },
};

const REFUSED_WITH = ["rate_limited", "server_error", "unavailable", "overloaded"] as const;

async function isOver(kind: FaultKind | QuirkName, format: Format, sending: Sending): Promise<boolean> {
  if (isQuirk(kind)) return false;
  const refused = REFUSED_WITH.find((each) => each === kind);
  if (refused === undefined) return (await EARLY_FAULTS[kind]?.(sending)) ?? false;
  await sendRefusal(format.refusal({ kind: refused }), sending);
  return true;
}

/** A stream of more pieces would take longer than it tells. */
const MAX_PIECES = 5000;

/** Whole characters, so that each piece is well-formed text. */
function piecesOf(given: number): (text: string) => readonly string[] {
  return (text) => {
    const characters = Array.from(text);
    const size = Math.max(given, Math.ceil(characters.length / MAX_PIECES));
    const pieces: string[] = [];
    for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(""));
    return pieces;
  };
}
