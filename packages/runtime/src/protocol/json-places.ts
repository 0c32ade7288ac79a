/** A position in a text; both count from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

type Step = string | number;

/** Parsed JSON with the line and column of each part. */
export interface LocatedJson {
  readonly value: unknown;
  /** Start of the member or element at that path; for a missing one, of its closest existing parent. */
  placeOf(path: readonly Step[]): Place;
  /** The first names that occur twice in one object: people read the first, programs the last. */
  readonly repeated: readonly { readonly name: string; readonly place: Place }[];
}

/**
 * JSON without duplicate names in an object: some readers use the first and some the last, so what was shown might not
 * be what is done. Throws a `SyntaxError` that quotes nothing of the text.
 */
export function parseStrictJson(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  const scan = new Scan(text, 0);
  scan.run();
  const [repeated] = scan.repeated;
  if (repeated === undefined) return value;
  const { line, column } = placesOf(text)(repeated.at);
  throw new SyntaxError(`Duplicate name in an object at line ${line} column ${column}`);
}

/**
 * JSON with the positions of its parts, or the position of the first error. Quotes nothing of the text. Linear time.
 */
export function locateJson(text: string): LocatedJson | { readonly problem: string; readonly place: Place } {
  const scan = new Scan(text);
  const wrongAt = scan.run();
  const placeAt = placesOf(text);
  if (wrongAt !== undefined) {
    const problem = wrongAt >= text.length ? "unexpected end" : "unexpected character";
    return { problem, place: placeAt(wrongAt) };
  }
  return {
    value: JSON.parse(text) as unknown,
    placeOf(path) {
      for (let length = path.length; length > 0; length--) {
        const at = scan.places.get(keyOf(path.slice(0, length)));
        if (at !== undefined) return placeAt(at);
      }
      return placeAt(scan.start);
    },
    repeated: scan.repeated.map(({ name, at }) => ({ name, place: placeAt(at) })),
  };
}

function keyOf(path: readonly Step[]): string {
  return JSON.stringify(path);
}

function placesOf(text: string): (at: number) => Place {
  const starts = [0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) starts.push(end + 1);
  return (at) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: at - (starts[low] ?? 0) + 1 };
  };
}

/** A JSON token after any white space. The string pattern is unrolled, so that a long one is matched in one step. */
const TOKEN =
  /[ \t\n\r]*(?:([{}[\],:])|("[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;
const SPACE = /[ \t\n\r]*/y;

/** Deeper parts are not recorded: no setting is nested deeper, and storing each path would take quadratic space. */
const DEEPEST = 4;

/** One is enough to refuse a text; a few more help to fix it. */
const MAX_REPEATED = 20;

/** The tokens that may come next. */
type ExpectedToken = "value" | "value or ]" | "name" | "name or }" | ":" | ", or end" | "nothing";

/** Scans a text token by token; uses its own stack, so that no nesting is too deep. */
class Scan {
  readonly places = new Map<string, number>();
  readonly repeated: { readonly name: string; readonly at: number }[] = [];
  /** Start of the outermost value. */
  start = 0;
  readonly #text: string;
  /** One step per open object or list. */
  readonly #path: Step[] = [];
  /** The names so far of each open object; undefined for a list. */
  readonly #names: (Set<string> | undefined)[] = [];
  #wanted: ExpectedToken = "value";

  /** The depth up to which positions are recorded. */
  readonly #deepest: number;

  constructor(text: string, deepest: number = DEEPEST) {
    this.#text = text;
    this.#deepest = deepest;
  }

  /** Returns the offset of the first error. */
  run(): number | undefined {
    TOKEN.lastIndex = 0;
    for (;;) {
      const from = TOKEN.lastIndex;
      const match = TOKEN.exec(this.#text);
      if (match === null) {
        SPACE.lastIndex = from;
        SPACE.exec(this.#text);
        const at = SPACE.lastIndex;
        return at >= this.#text.length && this.#wanted === "nothing" ? undefined : at;
      }
      const [whole, sign, string, plain] = match;
      const at = from + whole.length - (sign ?? string ?? plain ?? "").length;
      if (!this.#take({ at, sign, string })) return at;
    }
  }

  #take(token: {
    readonly at: number;
    readonly sign: string | undefined;
    readonly string: string | undefined;
  }): boolean {
    const { at, sign, string } = token;
    switch (this.#wanted) {
      case "name or }":
        if (sign === "}") return this.#close();
        return this.#name(string, at);
      case "name":
        return this.#name(string, at);
      case ":":
        this.#wanted = "value";
        return sign === ":";
      case "value or ]":
        if (sign === "]") return this.#close();
        return this.#value(sign, at);
      case "value":
        return this.#value(sign, at);
      case ", or end":
        return this.#next(sign);
      case "nothing":
        return false;
    }
  }

  #name(string: string | undefined, at: number): boolean {
    if (string === undefined) return false;
    const name = JSON.parse(string) as string;
    this.#path[this.#path.length - 1] = name;
    const names = this.#names.at(-1);
    if (names?.has(name) === true && this.repeated.length < MAX_REPEATED) this.repeated.push({ name, at });
    names?.add(name);
    if (this.#path.length <= this.#deepest) this.places.set(keyOf(this.#path), at);
    this.#wanted = ":";
    return true;
  }

  #value(sign: string | undefined, at: number): boolean {
    const step = this.#path.at(-1);
    if (step === undefined) this.start = at;
    // The position of a member is that of its name.
    if (typeof step === "number" && this.#path.length <= this.#deepest) this.places.set(keyOf(this.#path), at);
    if (sign === "{") {
      this.#path.push("");
      this.#names.push(new Set());
      this.#wanted = "name or }";
      return true;
    }
    if (sign === "[") {
      this.#path.push(0);
      this.#names.push(undefined);
      this.#wanted = "value or ]";
      return true;
    }
    if (sign !== undefined) return false;
    this.#wanted = step === undefined ? "nothing" : ", or end";
    return true;
  }

  #next(sign: string | undefined): boolean {
    const step = this.#path.at(-1);
    if (sign === (typeof step === "number" ? "]" : "}")) return this.#close();
    if (sign !== ",") return false;
    if (typeof step === "number") this.#path[this.#path.length - 1] = step + 1;
    this.#wanted = typeof step === "number" ? "value" : "name";
    return true;
  }

  #close(): boolean {
    this.#path.pop();
    this.#names.pop();
    this.#wanted = this.#path.length === 0 ? "nothing" : ", or end";
    return true;
  }
}
