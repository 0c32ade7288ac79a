/** `auto`: the model's own default. A number: at most this many tokens. */
type Thinking = "auto" | "off" | "on" | number;
export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** How one model is asked. What is left out is the model's, or the provider's, own default. */
export interface ModelSettings {
  /** The longest reply, thinking included. */
  readonly max_output_tokens?: number;
  readonly thinking?: Thinking;
  readonly effort?: Effort;
  /** How much fits into a request with its reply, where the provider does not say or says too much. */
  readonly context_tokens?: number;
  /** How long to wait for the first byte of a reply, and between bytes. */
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
