/** One setting of a git configuration, as git reads it. */
export interface GitSetting {
  /** Section and name in lower case, the part between them unchanged: `branch.Main.remote`. */
  readonly key: string;
  /** Undefined if the line has no `=`, which git reads as true. */
  readonly value: string | undefined;
}

/** No real configuration is larger. */
const MAX_LENGTH = 1 << 20;

/**
 * The settings of a configuration file, in order, from a text with one character per byte. Follows git's own parser
 * character by character: undefined if git would reject the file, or for invalid content (a NUL). Includes are ordinary
 * settings; no file is read. Linear in time.
 */
export function parseGitConfig(text: string): readonly GitSetting[] | undefined {
  if (text.length > MAX_LENGTH || text.includes("\0")) return undefined;
  // Git skips a UTF-8 byte order mark, and treats CRLF as a line end.
  const plain = text.replace(/^\u00ef\u00bb\u00bf/, "").replaceAll("\r\n", "\n");
  // The end of a file ends its last line.
  return new Reader(`${plain}\n`).settings();
}

const SPACE = /[ \t\n\r]/;
const NAME = /[A-Za-z0-9-]/;
const LETTER = /[A-Za-z]/;
const ESCAPED: Readonly<Record<string, string | undefined>> = { t: "\t", b: "\b", n: "\n", "\\": "\\", '"': '"' };

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  settings(): readonly GitSetting[] | undefined {
    const found: GitSetting[] = [];
    let section = "";
    while (this.#at < this.#text.length) {
      const next = this.#take();
      if (SPACE.test(next)) continue;
      if (next === "#" || next === ";") {
        this.#at = this.#text.indexOf("\n", this.#at) + 1;
      } else if (next === "[") {
        const header = this.#section();
        if (header === undefined) return undefined;
        section = `${header}.`;
      } else {
        const setting = LETTER.test(next) ? this.#setting(section + next.toLowerCase()) : undefined;
        if (setting === undefined) return undefined;
        found.push(setting);
      }
    }
    return found;
  }

  /** Returns line ends past the end, so that reading a line always terminates. */
  #take(): string {
    return this.#at < this.#text.length ? this.#text.charAt(this.#at++) : "\n";
  }

  /** `core]`, `branch "Main"]`, and the old `branch.main]`. */
  #section(): string | undefined {
    let name = "";
    for (let next = this.#take(); next !== "]"; next = this.#take()) {
      if (SPACE.test(next)) return next === "\n" ? undefined : this.#subsection(name);
      if (!NAME.test(next) && next !== ".") return undefined;
      name += next.toLowerCase();
    }
    return name === "" ? undefined : name;
  }

  #subsection(section: string): string | undefined {
    let next = this.#take();
    while (next !== "\n" && SPACE.test(next)) next = this.#take();
    if (next !== '"') return undefined;
    let name = "";
    for (next = this.#take(); next !== '"'; next = this.#take()) {
      if (next === "\\") next = this.#take();
      if (next === "\n") return undefined;
      name += next;
    }
    return this.#take() === "]" ? `${section}.${name}` : undefined;
  }

  #setting(begun: string): GitSetting | undefined {
    let key = begun;
    let next = this.#take();
    for (; NAME.test(next); next = this.#take()) key += next.toLowerCase();
    while (next === " " || next === "\t") next = this.#take();
    if (next === "\n") return { key, value: undefined };
    const value = next === "=" ? this.#value() : undefined;
    return value === undefined ? undefined : { key, value };
  }

  #value(): string | undefined {
    let value = "";
    let spaces = 0;
    let isQuoted = false;
    for (let next = this.#take(); ; next = this.#take()) {
      if (next === "\n") return isQuoted ? undefined : value;
      if (!isQuoted && SPACE.test(next)) {
        if (value !== "") spaces++;
        continue;
      }
      if (!isQuoted && (next === ";" || next === "#")) {
        this.#at = this.#text.indexOf("\n", this.#at) + 1;
        return value;
      }
      value += " ".repeat(spaces);
      spaces = 0;
      if (next === '"') {
        isQuoted = !isQuoted;
      } else if (next === "\\") {
        const escaped = this.#take();
        if (escaped === "\n") continue;
        const meant = ESCAPED[escaped];
        if (meant === undefined) return undefined;
        value += meant;
      } else value += next;
    }
  }
}
