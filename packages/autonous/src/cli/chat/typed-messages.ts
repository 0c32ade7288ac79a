import { isatty } from "node:tty";
import { openKeyboard } from "../../channels/terminal/keyboard.ts";
import type { TypedMessage } from "../../channels/terminal/read-message.ts";
import { UsageError } from "../command.ts";
import { pipedLines } from "../standard-input.ts";
import type { Chat } from "./conversation.ts";

type Given = Exclude<TypedMessage, { readonly kind: "end" }>;

/** What a person types, or what is piped in, one message per line; `interrupt`: the person wants no more. */
export async function* messagesOf({ signal, print }: Pick<Chat, "signal" | "print">): AsyncIterable<Given> {
  if (!isatty(0)) {
    for await (const text of pipedLines(signal)) yield { kind: "message", text };
    return;
  }
  const history: string[] = [];
  let wasInterrupted = false;
  for (;;) {
    const keyboard = openKeyboard();
    if (keyboard === undefined) throw new UsageError("The terminal cannot be opened; pipe messages in, one a line");
    // Closed before the message is dealt with: questions are asked at the same terminal.
    const typed = await keyboard.readMessage({ prompt: "> ", history, signal }).finally(() => keyboard.close());
    if (typed.kind === "end") return print.note("");
    if (typed.kind === "interrupt") {
      print.note("");
      if (wasInterrupted) return yield typed;
      print.note("Ctrl-C again, Ctrl-D or /exit ends the chat");
    }
    wasInterrupted = typed.kind === "interrupt";
    if (typed.kind === "message") yield typed;
  }
}
