export interface WriterOptions {
  /** Base URL for links. */
  readonly base: string;
  /** Total limit in characters. */
  readonly limit: number;
  /** Keep links, images and emphasis. */
  readonly inline: boolean;
}

/**
 * A self-contained piece of a page: elements that are open at its end are closed there, and opened again in the next.
 */
export interface Segment {
  readonly html: string;
  /** It ends between two list items or table rows. */
  readonly goes_on: boolean;
}

export const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

const BLOCKS = words(
  "p div section article main header footer nav aside h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre table thead tbody tfoot tr td th figure figcaption address details summary form fieldset",
);
/** Each of them indents every line inside. */
const INDENTS = words("ul ol blockquote");
/**
 * The parser reopens these in every block inside of them: deeply nested ones would make the page grow without limit.
 */
const INLINE = words("a b strong i em code kbd samp del s sub sup");
/** Those that end where a block starts: Markdown has no emphasis across paragraphs. */
const EMPHASIS = words("b strong i em kbd samp del s sub sup");
const VOID = words("br hr img");
/** Between the children of these, a page can be cut without a visible effect. */
const CONTAINERS = words(
  "div section article main header footer nav aside ul ol dl table thead tbody tfoot form fieldset",
);
const LISTS = words("ul ol table thead tbody tfoot");

const DEEPEST = { block: 64, indent: 12, inline: 8 } as const;
const LONGEST_LINK = 2000;

/**
 * The converter takes quadratic time in the number of elements. A page is cut at the next good place after the soft
 * limit, and anywhere at the hard limit.
 */
const SOFT_LIMIT = { elements: 500, characters: 32_768 } as const;
const HARD_LIMIT = { elements: 2000, characters: 131_072 } as const;

/** The open elements that a start tag closes implicitly. */
// oxfmt-ignore
const ENDS: Readonly<Record<string, ReadonlySet<string>>> = {
  li: words("li p"),
  dt: words("dt dd p"), dd: words("dt dd p"),
  tr: words("tr td th p"), td: words("td th p"), th: words("td th p"),
  thead: words("tr td th"), tbody: words("tr td th thead"), tfoot: words("tr td th tbody"),
};
const ENDS_PARAGRAPH = words("p");

type Attributes = ReadonlyMap<string, string>;

interface OpenElement {
  readonly name: string;
  readonly kind: keyof typeof DEEPEST;
  readonly attributes: string;
  /** Not written because it is nested too deep; its content is. */
  readonly isSilent: boolean;
  /** For a numbered list: the number of the next item. */
  next: number;
}

/** Writes elements so that they are properly nested. */
export class HtmlWriter {
  readonly #options: WriterOptions;
  readonly #segments: Segment[] = [];
  readonly #stack: OpenElement[] = [];
  /** The written elements of the stack: few, however many are open. */
  readonly #shown: OpenElement[] = [];
  /** Number of open elements in which the page should not be cut. */
  #tight = 0;
  readonly #open = new Map<string, number>();
  readonly #depth = { block: 0, indent: 0, inline: 0 };
  #parts: string[] = [];
  /** In total, and of this segment. */
  #written = 0;
  #characters = 0;
  #elements = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#written > this.#options.limit;
  }

  /** Text in page form: a "<" in it is written as `&lt;`. */
  text(text: string): void {
    this.#write(text.slice(0, this.#options.limit + 1 - this.#written));
  }

  open(name: string, attributes: Attributes): void {
    const { inline, base } = this.#options;
    if (VOID.has(name)) {
      this.#cutIfLong();
      if (name !== "img") this.#write(`<${name}>`);
      else if (inline) this.#write(imageOf(attributes, base));
      this.#elements++;
      return;
    }
    const isBlock = BLOCKS.has(name);
    if (!isBlock && !(inline && INLINE.has(name))) return;
    this.#endBefore(name, isBlock);
    this.#cutIfLong();
    const above = this.#stack.at(-1);
    if (name === "li" && above?.name === "ol") above.next++;
    const kind = !isBlock ? "inline" : INDENTS.has(name) ? "indent" : "block";
    const element: OpenElement = {
      name,
      kind,
      attributes: attributesOf(name, attributes, base),
      isSilent: this.#depth[kind] >= DEEPEST[kind],
      next: name === "ol" ? startOf(attributes) : 0,
    };
    this.#stack.push(element);
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    if (element.isSilent) return;
    this.#shown.push(element);
    if (!CONTAINERS.has(name)) this.#tight++;
    this.#depth[kind]++;
    this.#elements++;
    this.#write(startTag(element));
  }

  close(name: string): void {
    if ((this.#open.get(name) ?? 0) === 0) return;
    for (let top = this.#stack.pop(); top !== undefined; top = this.#stack.pop()) {
      this.#open.set(top.name, (this.#open.get(top.name) ?? 0) - 1);
      if (!top.isSilent) {
        this.#shown.pop();
        if (!CONTAINERS.has(top.name)) this.#tight--;
        this.#depth[top.kind]--;
        this.#write(`</${top.name}>`);
      }
      if (top.name === name) return;
    }
  }

  end(): readonly Segment[] {
    this.#cut(false);
    return this.#segments;
  }

  #endBefore(name: string, isBlock: boolean): void {
    if (!isBlock) return;
    const ends = ENDS[name] ?? ENDS_PARAGRAPH;
    for (let top = this.#stack.at(-1); top !== undefined; top = this.#stack.at(-1)) {
      if (!ends.has(top.name) && !EMPHASIS.has(top.name)) return;
      this.close(top.name);
    }
  }

  #cutIfLong(): void {
    if (this.#elements < SOFT_LIMIT.elements && this.#characters < SOFT_LIMIT.characters) return;
    const isGood = this.#tight === 0;
    if (!isGood && this.#elements < HARD_LIMIT.elements && this.#characters < HARD_LIMIT.characters) return;
    const innermost = this.#stack.at(-1);
    this.#cut(isGood && innermost !== undefined && LISTS.has(innermost.name));
  }

  #cut(goes_on: boolean): void {
    const ends = this.#shown.map(({ name }) => `</${name}>`).reverse();
    this.#segments.push({ html: this.#parts.join("") + ends.join(""), goes_on });
    this.#parts = this.#shown.map(startTag);
    this.#elements = 0;
    this.#characters = 0;
  }

  #write(part: string): void {
    this.#parts.push(part);
    this.#written += part.length;
    this.#characters += part.length;
  }
}

function startTag({ name, attributes, next }: OpenElement): string {
  return `<${name}${attributes}${name === "ol" && next !== 1 ? ` start="${next}"` : ""}>`;
}

function startOf(attributes: Attributes): number {
  const start = attributes.get("start") ?? "";
  return /^\d{1,9}$/.test(start) ? Number(start) : 1;
}

function attributesOf(name: string, attributes: Attributes, base: string): string {
  if (name === "a") {
    const href = linkOf(attributes.get("href"), base);
    return href === undefined ? "" : ` href="${href}"`;
  }
  if (name !== "code") return "";
  const language = /\blanguage-[\w+#-]{1,40}/.exec((attributes.get("class") ?? "").slice(0, 500))?.[0];
  return language === undefined ? "" : ` class="${language}"`;
}

function imageOf(attributes: Attributes, base: string): string {
  const alt = escape(attributes.get("alt")?.slice(0, 500) ?? "");
  const source = linkOf(attributes.get("src"), base);
  return source === undefined ? alt : `<img src="${source}" alt="${alt}">`;
}

/** The absolute URL of a link. Undefined for scripts and data. */
function linkOf(written: string | undefined, base: string): string | undefined {
  if (written === undefined || written.length > LONGEST_LINK) return undefined;
  const text = written.replaceAll(/&amp;|&#38;/gi, "&");
  if (!URL.canParse(text, base)) return undefined;
  const url = new URL(text, base);
  return /^(?:https?|mailto):$/.test(url.protocol) ? escape(url.href) : undefined;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
