import { isatty } from "node:tty";
import { openKeyboard } from "../../channels/terminal/keyboard.ts";
import type { TypedMessage } from "../../channels/terminal/read-message.ts";
import { UsageError } from "../command.ts";
import { pipedLines } from "../session/standard-input.ts";
import { CHAT_COMMANDS } from "./chat-commands.ts";
import { complete } from "./complete.ts";
import type { Chat } from "./chat-conversation.ts";
import { TypedHistory } from "./typed-history.ts";

type IncomingMessage = Exclude<TypedMessage, { readonly kind: "end" }>;

/** Typed messages, or piped ones, one per line; `interrupt`: the user wants to stop. */
export async function* messagesOf(chat: Chat): AsyncIterable<IncomingMessage> {
  const { signal, print, place } = chat;
  if (!isatty(0)) {
    for await (const text of pipedLines(signal)) yield { kind: "message", text };
    return;
  }
  const kept = new TypedHistory(place.state_dir, print.note);
  const history = kept.read();
  let wasInterrupted = false;
  for (;;) {
    const keyboard = openKeyboard();
    if (keyboard === undefined) throw new UsageError("The terminal cannot be opened; pipe messages in, one per line");
    // Close it before the message is handled: approval questions use the same terminal.
    const { runtime } = chat.session;
    const typed = await keyboard
      .readMessage({
        prompt: "> ",
        history,
        complete: (line) => complete(line, { commands: CHAT_COMMANDS, place, runtime }),
        signal,
      })
      .finally(() => keyboard.close());
    if (typed.kind === "end") return print.output("\n");
    if (typed.kind === "interrupt") {
      print.output("\n");
      if (wasInterrupted) return yield typed;
      print.note("Ctrl-C again, Ctrl-D or /exit ends the chat");
    }
    wasInterrupted = typed.kind === "interrupt";
    if (typed.kind !== "message") continue;
    if (typed.text.trim() !== "" && typed.text !== history[0]) {
      history.unshift(typed.text);
      kept.add(typed.text);
    }
    yield typed;
  }
}
