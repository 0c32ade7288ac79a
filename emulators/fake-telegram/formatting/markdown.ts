import { byteOffset, outerFirst, Unparsable } from "./formatted.ts";
import type { Entity, Formatted } from "./formatted.ts";

/** What must be escaped where it means nothing: the list of Telegram's documentation. */
const RESERVED = "_*[]()~`>#+-=|{}.!";

/** What opens an entity is what closes it; the longer ones are looked at first. */
// oxfmt-ignore
const MARKS = [
  { mark: "```", type: "pre",           name: "PreCode" },
  { mark: "__",  type: "underline",     name: "Underline" },
  { mark: "||",  type: "spoiler",       name: "Spoiler" },
  { mark: "_",   type: "italic",        name: "Italic" },
  { mark: "*",   type: "bold",          name: "Bold" },
  { mark: "~",   type: "strikethrough", name: "Strikethrough" },
  { mark: "`",   type: "code",          name: "Code" },
] as const;
const LINK = { mark: "]", type: "text_link", name: "TextUrl" } as const;
const QUOTE = { mark: "\n", type: "blockquote", name: "BlockQuote" } as const;

type Mark = (typeof MARKS)[number] | typeof LINK | typeof QUOTE;

interface OpenEntity {
  readonly mark: Mark;
  readonly offset: number;
  readonly source: number;
  readonly language?: string;
}

export function parseMarkdownV2(source: string): Formatted {
  const open: OpenEntity[] = [];
  const entities: Entity[] = [];
  let text = "";
  let at = 0;

  const close = (entity: OpenEntity, more: object = {}): void => {
    const length = text.length - entity.offset;
    const { language } = entity;
    if (length > 0)
      entities.push({
        type: entity.mark.type,
        offset: entity.offset,
        length,
        ...(language === undefined ? {} : { language }),
        ...more,
      });
    open.pop();
  };

  while (at < source.length) {
    const character = source.charAt(at);
    const last = open.at(-1);
    const next = source.charAt(at + 1);
    if (character === "\\" && next > "\0" && next <= "~") {
      text += next;
      at += 2;
    } else if (last?.mark.type === "code" || last?.mark.type === "pre") {
      const isEnd = source.startsWith(last.mark.mark, at);
      if (isEnd) close(last);
      else text += character;
      at += isEnd ? last.mark.mark.length : 1;
    } else if (character === "\n" && open[0]?.mark === QUOTE && source.charAt(at + 1) !== ">") {
      if (last === undefined || last.mark !== QUOTE) throw unended(last ?? open[0], source);
      close(last);
      text += character;
      at += 1;
    } else if (!RESERVED.includes(character)) {
      text += character;
      at += 1;
    } else if (last !== undefined && last.mark !== QUOTE && markAt(source, at, last)?.mark === last.mark.mark) {
      at += last.mark.mark.length;
      const link = last.mark === LINK ? readLink(source, at) : undefined;
      close(last, link === undefined ? {} : { url: link.url });
      at += link?.length ?? 0;
    } else {
      at += begin({ source, at, text, open });
    }
  }
  const [left] = open.filter(({ mark }) => mark !== QUOTE).slice(-1);
  if (left !== undefined) throw unended(left, source);
  for (const quote of open.slice()) close(quote);
  return { text, entities: outerFirst(entities) };
}

function unended({ mark, source }: OpenEntity, whole: string): Unparsable {
  return new Unparsable(`Can't find end of ${mark.name} entity at byte offset ${byteOffset(whole, source)}`);
}

/** The mark that stands there: of one that could be read two ways, the one that is open. */
function markAt(source: string, at: number, last?: OpenEntity): { readonly mark: string } | undefined {
  if (last?.mark === LINK && source[at] === "]") return LINK;
  return MARKS.find(({ mark }) => source.startsWith(mark, at));
}

interface Place {
  readonly source: string;
  readonly at: number;
  readonly text: string;
  readonly open: OpenEntity[];
}

/** Gives how much of the source the beginning of the entity takes. */
function begin({ source, at, text, open }: Place): number {
  const character = source.charAt(at);
  const isLineStart = at === 0 || source[at - 1] === "\n";
  if (character === ">" && isLineStart) {
    if (open[0]?.mark !== QUOTE) open.push({ mark: QUOTE, offset: text.length, source: at });
    return 1;
  }
  const isEmoji = character === "!" && source[at + 1] === "[";
  if (character === "[" || isEmoji) {
    open.push({ mark: LINK, offset: text.length, source: at });
    return isEmoji ? 2 : 1;
  }
  const mark = MARKS.find(({ mark }) => source.startsWith(mark, at));
  if (mark === undefined)
    throw new Unparsable(`Character '${character}' is reserved and must be escaped with the preceding '\\'`);
  const language = mark.type === "pre" ? (/^```([^\s`]+)\n/.exec(source.slice(at, at + 100))?.[1] ?? "") : "";
  const isBare = mark.type === "pre" && language === "" && source[at + 3] === "\n";
  open.push({ mark, offset: text.length, source: at, ...(language === "" ? {} : { language }) });
  return mark.mark.length + (language === "" ? (isBare ? 1 : 0) : language.length + 1);
}

function readLink(source: string, at: number): { url: string; length: number } | undefined {
  if (source[at] !== "(") return undefined;
  const [whole, url = ""] = /^\(((?:[^)\\]|\\[^])*)\)/.exec(source.slice(at)) ?? [];
  if (whole === undefined) throw new Unparsable(`Can't find end of a URL at byte offset ${byteOffset(source, at)}`);
  return { url: url.replaceAll(/\\([^])/g, "$1"), length: whole.length };
}

/** The first Markdown of Telegram: nothing inside of anything, and a mark that does not end is a mistake. */
export function parseMarkdown(source: string): Formatted {
  const entities: Entity[] = [];
  let text = "";
  let at = 0;
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === "\\" && /^[_*`[]/.test(source.slice(at + 1, at + 2))) {
      text += source.charAt(at + 1);
      at += 2;
      continue;
    }
    const mark =
      character === "["
        ? LINK
        : MARKS.find((each) => ["```", "`", "*", "_"].includes(each.mark) && source.startsWith(each.mark, at));
    if (mark === undefined) {
      text += character;
      at += 1;
      continue;
    }
    const from = at + (mark === LINK ? 1 : mark.mark.length);
    const to = source.indexOf(mark.mark, from);
    if (to === -1)
      throw new Unparsable(`Can't find end of the entity starting at byte offset ${byteOffset(source, at)}`);
    const link = mark === LINK ? readLink(source, to + 1) : undefined;
    const inner = mark.type === "pre" ? source.slice(from, to).replace(/^[^\s`]*\n/, "") : source.slice(from, to);
    if (inner !== "" && (mark !== LINK || link !== undefined))
      entities.push({
        type: mark.type,
        offset: text.length,
        length: inner.length,
        ...(link === undefined ? {} : { url: link.url }),
      });
    text += inner;
    at = to + mark.mark.length + (link?.length ?? 0);
  }
  return { text, entities };
}
