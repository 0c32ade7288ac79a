import { makeVisible } from "@autonous/runtime/internal";
import type { Outgoing, OutboxRow, ShownMessage } from "../../../store/store.ts";
import { markdownRich } from "./rich-markdown.ts";
import { joinRich, markAll, plainText } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";
import { MESSAGE_LIMIT } from "./split-text.ts";

/** How each level of `display` is written. */
// oxfmt-ignore
const LABELS: Readonly<Record<string, string>> = {
  info:     "Info",
  success:  "Done",
  warning:  "Warning",
  error:    "Error",
  progress: "Progress",
};

/** A person is called for these. */
export const LOUD: ReadonlySet<string> = new Set(["warning", "error"]);

/** Between two that go out in one message. */
export const BETWEEN = "\n\n";

export function isShown(content: Outgoing): content is ShownMessage {
  return content.kind === "display";
}

/** Level and title in bold, what is shown as Markdown, and what it rests on. */
export function shownText({ content, level, title = "", evidence = [] }: ShownMessage): RichText {
  const label = (Object.hasOwn(LABELS, level) ? LABELS[level] : undefined) ?? makeVisible(level);
  const name = makeVisible(title.trim());
  const head = markAll(plainText(name === "" ? `${label}:` : `${label}: ${name}`), { type: "bold" });
  const body = markdownRich(content.trim());
  // A block of code, a table or a quote begins a line of its own.
  const isBlock = body.entities.some(({ type, offset }) => offset === 0 && (type === "pre" || type === "blockquote"));
  const points = evidence.map((each) => plainText(`- ${makeVisible(each)}`));
  const first = joinRich([head, body], name === "" && !isBlock ? " " : "\n");
  return joinRich([body.text === "" ? head : first, ...points], "\n");
}

/**
 * Telegram takes one message per second for a chat, and one in three seconds for a group. What was shown meanwhile goes
 * out together as far as it fits into one message, so that a talkative task does not hold up its own answer.
 */
export function countJoined(rows: readonly OutboxRow[]): number {
  let length = 0;
  let count = 0;
  for (const { content } of rows) {
    if (!isShown(content)) break;
    length += shownText(content).text.length + (count === 0 ? 0 : BETWEEN.length);
    if (count > 0 && length > MESSAGE_LIMIT) break;
    count++;
  }
  return Math.max(1, count);
}
