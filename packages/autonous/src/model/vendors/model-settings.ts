/** `auto`: the model's default. A number: at most this many tokens. */
type ThinkingSetting = "auto" | "off" | "on" | number;
export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Settings of one model. Omitted ones use the default of the model or provider. */
export interface ModelSettings {
  /** Maximum reply length, including thinking. */
  readonly max_output_tokens?: number;
  readonly thinking?: ThinkingSetting;
  readonly effort?: Effort;
  /** Context window for request and reply, if the provider does not report it or reports too much. */
  readonly context_tokens?: number;
  /** Timeouts for the first byte of a reply, and between bytes. */
  readonly model_first_byte_seconds?: number;
  readonly model_idle_seconds?: number;
}

/** `anthropic:claude-x`, else `claude-x`; of `compatible:m@http://…` also `m`. */
export function findByModel<Row>(table: Readonly<Record<string, Row>>, model: string): Row | undefined {
  const short = model.replace(/^[a-z-]+:/, "");
  const bare = short.replace(/@https?:\/\/[^@]*$/i, "");
  const name = [model, short, bare].find((each) => Object.hasOwn(table, each));
  return name === undefined ? undefined : table[name];
}
