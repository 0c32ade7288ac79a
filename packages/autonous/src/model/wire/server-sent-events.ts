export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * Parses server-sent events from text in arbitrary pieces. More lenient than the standard, as servers require: a JSON
 * line without `data:` counts as data, and the last event needs no empty line after it.
 */
export class EventParser {
  /** Pieces of the incomplete line. */
  #pieces: string[] = [];
  #endsWithReturn = false;
  #event = "";
  #data: string[] = [];

  /** Events completed by this text. */
  push(text: string): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    // CRLF may be split between two pieces.
    const rest = this.#endsWithReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#endsWithReturn = text.endsWith("\r");
    const lines = rest.split(/\r\n|\n|\r/);
    const last = lines.pop() ?? "";
    for (const line of lines) {
      this.#pieces.push(line);
      this.#takeLine(this.#pieces.join(""), events);
      this.#pieces = [];
    }
    if (last !== "") this.#pieces.push(last);
    return events;
  }

  /** The last event if its closing empty line is missing. */
  end(): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    if (this.#pieces.length > 0) this.#takeLine(this.#pieces.join(""), events);
    this.#pieces = [];
    this.#takeLine("", events);
    return events;
  }

  #takeLine(line: string, events: ServerEvent[]): void {
    if (line === "") return this.#dispatch(events);
    const at = line.indexOf(":");
    const field = at === -1 ? line : line.slice(0, at);
    const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value.trim();
    else if (/^\s*[[{]/.test(line)) {
      this.#dispatch(events);
      this.#data.push(line);
      this.#dispatch(events);
    }
  }

  #dispatch(events: ServerEvent[]): void {
    if (this.#data.length > 0) events.push({ event: this.#event, data: this.#data.join("\n") });
    else if (this.#event === "error") events.push({ event: "error", data: "" });
    this.#data = [];
    this.#event = "";
  }
}
