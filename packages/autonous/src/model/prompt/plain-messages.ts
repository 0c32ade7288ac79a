import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { Message, ModelRequest } from "../provider.ts";

interface PlainMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** Inserted where a server requires a user message. */
export const CONTINUE = "Continue.";

/**
 * A conversation as text only, for servers without function calling: results are user messages, and the roles
 * alternate, starting and ending with the user.
 */
export function makePlainPrompt({ system, messages }: ModelRequest): LanguageModelV4Prompt {
  const turns: PlainMessage[] = [];
  const say = ({ role, text }: PlainMessage): void => {
    if (text.trim() === "") return;
    const last = turns.at(-1);
    if (last?.role === role) turns.splice(-1, 1, { role, text: `${last.text}\n\n${text}` });
    else turns.push({ role, text });
  };
  for (const message of messages) say(plainMessage(message));
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", text: CONTINUE });
  if (turns.at(-1)?.role !== "user") turns.push({ role: "user", text: CONTINUE });
  const prompt: LanguageModelV4Prompt = turns.map(({ role, text }) => ({ role, content: [{ type: "text", text }] }));
  return system.trim() === "" ? prompt : [{ role: "system", content: system }, ...prompt];
}

function plainMessage(message: Message): PlainMessage {
  if (message.role === "user") return message;
  if (message.role === "tool") return { role: "user", text: resultMessage(message) };
  const { text, calls = [] } = message;
  if (calls.length === 0) return { role: "assistant", text };
  const tool_calls = calls.map(({ name, arguments: args }) => ({ name, arguments: args }));
  return { role: "assistant", text: JSON.stringify({ tool_calls, final_answer: text }) };
}

/** A result as text of a user message. */
export function resultMessage({ name, text }: { readonly name: string; readonly text: string }): string {
  return `Result of ${name}:\n${text}`;
}
