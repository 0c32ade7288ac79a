import { byteOffset, outerFirst, Unparsable } from "./formatted.ts";
import type { Entity, Formatted } from "./formatted.ts";

/** The tags that Telegram knows, and what they make of their text. */
// oxfmt-ignore
const TAGS: Readonly<Record<string, string>> = {
  b: "bold", strong: "bold",
  i: "italic", em: "italic",
  u: "underline", ins: "underline",
  s: "strikethrough", strike: "strikethrough", del: "strikethrough",
  "tg-spoiler": "spoiler", span: "spoiler",
  a: "text_link",
  "tg-emoji": "custom_emoji",
  code: "code",
  pre: "pre",
  blockquote: "blockquote",
};
const CHARACTERS: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };
const TAG = /<(\/?)([^\s<>/]*)((?:\s+[^\s=<>"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)*)\s*>/uy;
const SPECIAL = /[<&]/g;
const ATTRIBUTE = /([^\s=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+)))?/gu;

interface OpenTag {
  readonly name: string;
  readonly offset: number;
  readonly attributes: Readonly<Record<string, string>>;
}

export function parseHtml(source: string): Formatted {
  const open: OpenTag[] = [];
  const entities: Entity[] = [];
  let text = "";
  let at = 0;
  while (at < source.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(source)?.index;
    if (next === undefined) break;
    text += source.slice(at, next);
    at = next;
    if (source[at] === "&") {
      const { character, length } = readCharacter(source, at);
      text += character;
      at += length;
      continue;
    }
    const tag = readTag(source, at);
    if (tag.isEnd) entities.push(...closeTag(open, tag.name, { source, at, end: text.length }));
    else open.push({ name: tag.name, offset: text.length, attributes: tag.attributes });
    at += tag.length;
  }
  const [left] = open.slice(-1);
  if (left !== undefined) throw new Unparsable(`Can't find end tag corresponding to start tag "${left.name}"`);
  return { text: text + source.slice(at), entities: outerFirst(withLanguages(entities)) };
}

/** Code that fills its block says the language of it. */
function withLanguages(entities: readonly Entity[]): readonly Entity[] {
  const isSame = (one: Entity, other: Entity): boolean => one.offset === other.offset && one.length === other.length;
  const blocks = entities.filter(({ type }) => type === "pre");
  return entities
    .filter((entity) => entity.type !== "code" || !blocks.some((block) => isSame(block, entity)))
    .map((entity) => {
      const inner =
        entity.type === "pre" ? entities.find((each) => each.type === "code" && isSame(each, entity)) : undefined;
      const language = inner?.language;
      return language === undefined ? entity : { ...entity, language };
    });
}

function readCharacter(source: string, at: number): { character: string; length: number } {
  const [whole, decimal, hexadecimal, name] =
    /^&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{1,8}));?/i.exec(source.slice(at, at + 12)) ?? [];
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
  if (whole !== undefined && code > 0 && code <= 0x10_ffff)
    return { character: String.fromCodePoint(code), length: whole.length };
  const known = CHARACTERS[name?.toLowerCase() ?? ""];
  return whole === undefined || known === undefined
    ? { character: "&", length: 1 }
    : { character: known, length: whole.length };
}

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly length: number;
}

function readTag(source: string, at: number): Tag {
  const offset = byteOffset(source, at);
  TAG.lastIndex = at;
  const found = TAG.exec(source);
  const isEnd = source[at + 1] === "/";
  if (found === null) {
    const name = /^<\/?([^\s<>/]*)/.exec(source.slice(at, at + 100))?.[1]?.toLowerCase() ?? "";
    if (!isEnd && TAGS[name] === undefined)
      throw new Unparsable(`Unsupported start tag "${name}" at byte offset ${offset}`);
    throw new Unparsable(`Unclosed ${isEnd ? "end" : "start"} tag at byte offset ${offset}`);
  }
  const name = (found[2] ?? "").toLowerCase();
  const attributes = Object.fromEntries(
    Array.from((found[3] ?? "").matchAll(ATTRIBUTE), ([, key = "", ...values]) => [
      key.toLowerCase(),
      values.find((each) => each !== undefined) ?? "",
    ]),
  );
  const isSpoiler = name !== "span" || attributes["class"] === "tg-spoiler";
  if (!isEnd && !isSpoiler) throw new Unparsable(`Tag "span" must have class "tg-spoiler" at byte offset ${offset}`);
  if (!isEnd && TAGS[name] === undefined)
    throw new Unparsable(`Unsupported start tag "${name}" at byte offset ${offset}`);
  return { name, isEnd, attributes, length: found[0].length };
}

function closeTag(
  open: OpenTag[],
  name: string,
  { source, at, end }: { source: string; at: number; end: number },
): readonly Entity[] {
  const tag = open.pop();
  const offset = byteOffset(source, at);
  if (tag === undefined) throw new Unparsable(`Unexpected end tag at byte offset ${offset}`);
  if (name !== "" && name !== tag.name)
    throw new Unparsable(`Unmatched end tag at byte offset ${offset}, expected "</${tag.name}>", found "</${name}>"`);
  const length = end - tag.offset;
  const type = TAGS[tag.name] ?? "";
  const { href, class: className = "" } = tag.attributes;
  if (length === 0 || (type === "text_link" && href === undefined)) return [];
  const language =
    type === "code" && className.startsWith("language-") ? className.slice("language-".length) : undefined;
  return [
    {
      type,
      offset: tag.offset,
      length,
      ...(href === undefined ? {} : { url: href }),
      ...(language === undefined ? {} : { language }),
    },
  ];
}
