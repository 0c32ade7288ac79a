/** Messages of the emulated Bot API as a phone shows them, in text: for documents and for eyes. */
import { cutTo, foldHard, pad, widthOf, wrap } from "../../packages/autonous/src/channels/words/width.ts";
import type { ChatMessage } from "../../emulators/fake-telegram/server.ts";

type Entity = ChatMessage["entities"][number];

/** Columns inside of a bubble: about what a phone shows of code in a line. */
const COLUMNS = 42;
/** What people write is at the right. */
const RIGHT = " ".repeat(12);
/** Lines of a quote that are seen before it is unfolded. */
const FOLDED = 3;

/** A chat, oldest first. */
export function renderChat(messages: readonly ChatMessage[]): string {
  const bubbles = messages.map((message) =>
    bubble(
      message,
      messages.find(({ message_id }) => message_id === message.reply_to),
    ),
  );
  return bubbles.flat().join("\n");
}

function bubble(message: ChatMessage, replied: ChatMessage | undefined): readonly string[] {
  const lines = [
    ...(replied === undefined ? [] : [`↩ ${cutTo(oneLine(replied), COLUMNS - 2)}`]),
    ...mediaLine(message),
    ...(message.text === "" ? [] : bodyLines(message.text, message.entities, COLUMNS)),
  ];
  const isPerson = message.by === "person";
  const width = isPerson ? Math.max(8, ...lines.map(widthOf)) : COLUMNS;
  const marks = [...(message.before.length > 0 ? ["edited"] : []), ...(message.is_silent ? ["silent"] : [])];
  const foot = marks.length === 0 ? "" : ` ${marks.join(", ")} `;
  const framed = [
    `╭${"─".repeat(width + 2)}╮`,
    ...lines.map((line) => `│ ${pad(line, width)} │`),
    `╰${"─".repeat(width + 2 - widthOf(foot))}${foot}╯`,
    ...message.buttons.map((row) => row.map(({ text }) => `[ ${text} ]`).join(" ")),
  ];
  return isPerson ? framed.map((line) => `${RIGHT}${line}`) : framed;
}

function oneLine({ text, media }: ChatMessage): string {
  return text === "" ? (media?.kind ?? "…") : text.replaceAll(/\s+/g, " ");
}

function mediaLine({ media, document, text }: ChatMessage): readonly string[] {
  if (media === undefined) return text === "" ? ["▨ no text"] : [];
  return [media.kind === "document" ? `⎘ ${document?.file_name ?? ""}` : `▨ ${media.kind}`];
}

const BLOCKS: ReadonlySet<string> = new Set(["pre", "blockquote", "expandable_blockquote"]);

/** Blocks of code are framed, quotes have a line at their left; the rest is wrapped, with marks for its formatting. */
function bodyLines(text: string, entities: readonly Entity[], width: number): readonly string[] {
  const inline = entities.filter(({ type }) => !BLOCKS.has(type));
  const outer = entities.filter(
    (entity) =>
      BLOCKS.has(entity.type) && !entities.some((other) => isQuote(other) && other !== entity && isIn(entity, other)),
  );
  const lines: string[] = [];
  let at = 0;
  for (const block of outer) {
    lines.push(...proseLines(text.slice(at, block.offset).replace(/\n$/, ""), within(inline, at, block.offset), width));
    const end = block.offset + block.length;
    const inner = text.slice(block.offset, end);
    if (isQuote(block))
      lines.push(
        ...quoteLines(
          block,
          inner,
          within(
            entities.filter((each) => each !== block),
            block.offset,
            end,
          ),
          width,
        ),
      );
    else lines.push(...codeLines(inner, block["language"] ?? "", width));
    at = end + (text[end] === "\n" ? 1 : 0);
  }
  return [...lines, ...(at >= text.length ? [] : proseLines(text.slice(at), within(inline, at, text.length), width))];
}

function isQuote({ type }: Entity): boolean {
  return type === "blockquote" || type === "expandable_blockquote";
}

function isIn(one: Entity, other: Entity): boolean {
  return one.offset >= other.offset && one.offset + one.length <= other.offset + other.length;
}

function within(entities: readonly Entity[], from: number, to: number): readonly Entity[] {
  return entities
    .filter(({ offset, length }) => offset >= from && offset + length <= to)
    .map((entity) => ({ ...entity, offset: entity.offset - from }));
}

function quoteLines(quote: Entity, text: string, entities: readonly Entity[], width: number): readonly string[] {
  const lines = bodyLines(text, entities, width - 2);
  const isFolded = quote.type === "expandable_blockquote" && lines.length > FOLDED;
  const shown = isFolded ? [...lines.slice(0, FOLDED), "▾"] : lines;
  return shown.map((line) => `▏ ${line}`);
}

function codeLines(text: string, language: string, width: number): readonly string[] {
  const head = language === "" ? "" : ` ${language} `;
  const inner = width - 4;
  return [
    `┌${head}${"─".repeat(width - 2 - head.length)}┐`,
    ...text.split("\n").flatMap((line) => foldHard(line, inner).map((part) => `│ ${pad(part, inner)} │`)),
    `└${"─".repeat(width - 2)}┘`,
  ];
}

// oxfmt-ignore
const MARKS: Readonly<Record<string, readonly [string, string]>> = {
  bold:          ["*", "*"],
  italic:        ["_", "_"],
  strikethrough: ["~", "~"],
  code:          ["`", "`"],
};

function proseLines(text: string, entities: readonly Entity[], width: number): readonly string[] {
  if (text === "") return [];
  const marks = entities.flatMap((entity) => {
    const [open, close] = MARKS[entity.type] ?? ["", ""];
    const target = typeof entity["url"] === "string" ? ` ‹${entity["url"]}›` : "";
    return [
      { at: entity.offset, mark: open },
      { at: entity.offset + entity.length, mark: `${close}${target}` },
    ];
  });
  const marked = marks
    .toSorted((one, other) => other.at - one.at)
    .reduce((done, { at, mark }) => `${done.slice(0, at)}${mark}${done.slice(at)}`, text);
  return marked.split("\n").flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? "";
    return wrap(line.slice(indent.length), width - indent.length).map((part) => `${indent}${part}`);
  });
}
