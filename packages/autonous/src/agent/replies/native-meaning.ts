import { parseReply } from "../../model/calls/json-reply.ts";
import type { ModelReply } from "../../model/provider.ts";
import { withoutThinking } from "../../model/written/thinking.ts";
import { readWrittenCalls } from "../../model/written/written-calls.ts";
import type { WrittenReply } from "../../model/written/written-calls.ts";
import { readCall } from "./requested-calls.ts";
import type { InterpretedCall } from "./requested-calls.ts";
import { quotationCheck } from "./quoted-calls.ts";
import type { Run } from "../agent-run.ts";

type NativeReply = Extract<ModelReply, { readonly kind: "native" }>;

/** The interpretation of a reply. `message` tells the model what to change, `advice` tells the user. */
export type ReplyMeaning =
  | {
      readonly kind: "tool_calls";
      readonly calls: readonly InterpretedCall[];
      readonly text: string;
      /** The format, if the calls were written as text. */
      readonly written_as?: string;
    }
  | { readonly kind: "final"; readonly text: string }
  /** Part of an answer that the output limit truncated. */
  | { readonly kind: "cut"; readonly text: string }
  | { readonly kind: "invalid"; readonly message: string; readonly advice?: string };

const MORE_OUTPUT = "Set AUTONOUS_MAX_OUTPUT_TOKENS higher, or give a smaller task";
const LESS_THINKING =
  "The model used all of its output for thinking: set AUTONOUS_MAX_OUTPUT_TOKENS higher, or AUTONOUS_THINKING or AUTONOUS_EFFORT lower";
const OTHER_MODEL = "Try again, try another model, or name this one with compatible-plain:";
const TOOL_CALLING =
  "The model writes its tool calls as text. Turn on tool calling in the server (vLLM: --enable-auto-tool-choice --tool-call-parser <parser>; SGLang: --tool-call-parser <parser>; llama.cpp: --jinja; Ollama: a model whose template has tools), use another model, or name this one with compatible-plain:";
const HOW_TO_CALL =
  'call tools by function calling, or write each call as <tool_call>{"name": "<tool>", "arguments": {}}</tool_call>';

/** Its calls may be complete only by chance, and what was to follow is unknown. */
export const CUT_OFF: ReplyMeaning = {
  kind: "invalid",
  message: "Cannot use the reply: it was cut off by the length limit, so none of it was run; send a shorter one",
  advice: MORE_OUTPUT,
};

export function unusable(problem: string): ReplyMeaning {
  return { kind: "invalid", message: `Cannot use the reply: ${problem}`, advice: OTHER_MODEL };
}

/** Text without calls is the answer. Calls are independent: a broken one does not affect the others. */
export function interpretNative(run: Run, reply: NativeReply): ReplyMeaning {
  const { calls, finish, problem } = reply;
  if (problem !== undefined) return unusable(problem);
  if (calls.length > 0 && finish === "length") return CUT_OFF;
  const spoken = withoutThinking(reply.text);
  if (calls.length > 0)
    return { kind: "tool_calls", calls: calls.map((call) => readCall(run, call)), text: spoken.text };
  if (spoken.unclosed !== undefined) return unclosedThinking(run, reply, spoken.unclosed);
  const text = spoken.text === "" ? "" : keepSpacing(run, reply, spoken.text);
  if (text === "") return emptyReply(run, reply);
  // An earlier part may have opened a code fence, in which nothing is a call.
  const written = readWritten(run, `${run.pieces.join("")}${text}`, { isMeant: reply.wants_calls === true });
  if (finish === "length") return written === undefined ? { kind: "cut", text } : CUT_OFF;
  return interpretWritten(run, written) ?? interpretText(reply, text);
}

/** Keeps the white space where the part is joined to another one. */
function keepSpacing({ pieces }: Run, { text: said, finish }: NativeReply, text: string): string {
  const before =
    pieces.length > 0 && said.trimStart().startsWith(text) ? said.slice(0, said.length - said.trimStart().length) : "";
  return `${before}${text}${finish === "length" ? said.slice(said.trimEnd().length) : ""}`;
}

function interpretText({ wants_calls }: NativeReply, text: string): ReplyMeaning {
  if (wants_calls === true) {
    const message = `Cannot use the reply: it ended as a reply with tool calls but has none; ${HOW_TO_CALL}`;
    return { kind: "invalid", message, advice: TOOL_CALLING };
  }
  // The model may have learned the plain protocol earlier in the conversation.
  const plain = text.startsWith("{") && text.includes('"final_answer"') ? parseReply(text) : undefined;
  return { kind: "final", text: plain?.kind === "final" ? plain.text : text };
}

function unclosedThinking(run: Run, { finish }: NativeReply, thought: string): ReplyMeaning {
  if (finish === "length") return truncatedThinking();
  // Some models call a tool without closing their thinking.
  const meaning = interpretWritten(run, readWritten(run, thought, { isOnlyAtEnd: true }));
  if (meaning?.kind === "tool_calls") return meaning;
  const message = "Cannot use the reply: it contains only unfinished thinking; call a tool, or give the final answer";
  return { kind: "invalid", message, advice: OTHER_MODEL };
}

function truncatedThinking(): ReplyMeaning {
  const message =
    "Cannot use the reply: it was cut off by the length limit while you were still thinking; think less, then call a tool or give the final answer";
  return { kind: "invalid", message, advice: LESS_THINKING };
}

function emptyReply(run: Run, { finish, wants_calls }: NativeReply): ReplyMeaning {
  if (finish === "length") return truncatedThinking();
  if (wants_calls === true) return interpretText({ kind: "native", text: "", calls: [], finish, wants_calls }, "");
  if (run.pieces.length > 0) return { kind: "final", text: "" }; // the answer was complete already
  const message = "Cannot use the reply: it is empty; call a tool, or give the final answer";
  return { kind: "invalid", message, advice: OTHER_MODEL };
}

/**
 * Quoted calls never run. A reply that is only a quotation, without a code fence, may be meant as a call: the model
 * has to clarify.
 */
function readWritten(
  run: Run,
  text: string,
  how: { readonly isMeant?: boolean; readonly isOnlyAtEnd?: boolean },
): WrittenReply | undefined {
  const tools = run.options.runtime.tools();
  const isQuotation = quotationCheck(run);
  let hasQuotation = false;
  const isQuoted: typeof isQuotation = (...found) => {
    const quoted = isQuotation(...found);
    hasQuotation ||= quoted;
    return quoted;
  };
  const written = readWrittenCalls(text, { tools, isQuoted, ...how });
  if (written !== undefined || !hasQuotation || /^\s*(?:`{3}|~{3})/.test(text)) return written;
  const meant = readWrittenCalls(text, { tools, isQuoted: () => false, ...how });
  if (meant?.kind !== "calls" || meant.prose.trim() !== "") return undefined;
  return {
    kind: "attempt",
    form: meant.form,
    problem: "it appears in text that you were given and may be a quotation",
  };
}

function interpretWritten(run: Run, written: WrittenReply | undefined): ReplyMeaning | undefined {
  if (written === undefined) return undefined;
  if (written.kind === "attempt") {
    const message = `Cannot use the reply: it has a tool call, written as text, that cannot be read: ${written.problem}; ${HOW_TO_CALL}; if it is part of an answer, put it into a code block`;
    return { kind: "invalid", message, advice: TOOL_CALLING };
  }
  const calls = written.calls.map(({ name, input, repaired }) => {
    const call = readCall(run, { id: "", name, input });
    return { ...call, repaired: [...repaired, ...call.repaired] };
  });
  return { kind: "tool_calls", calls, text: withoutThinking(written.prose).text, written_as: written.form };
}
