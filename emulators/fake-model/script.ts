/** What a fake model says: a script in JSON, checked before the first request comes. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { FAULT_KINDS } from "./fault-kinds.ts";
import { QUIRK_NAMES } from "./quirks/quirks.ts";

const tokens = z.int().min(0);

const callSchema = z
  .strictObject({
    name: z.string().min(1),
    /** What is not said is made up, as a real server does. */
    id: z.string().min(1).optional(),
    arguments: z.record(z.string(), z.unknown()).optional(),
    /** Instead of `arguments`: text as a model may write it, broken JSON too. */
    arguments_text: z.string().optional(),
  })
  .refine((call) => call.arguments === undefined || call.arguments_text === undefined, {
    error: "a call has arguments or arguments_text, not both",
  });

const roundSchema = z.strictObject({
  reasoning: z.string().optional(),
  text: z.string().optional(),
  calls: z.array(callSchema).optional(),
  /** `length`: the reply ends as one that reached its limit of tokens. */
  finish: z.enum(["stop", "length"]).optional(),
  /** Said, or refused, in this way. One that gives no reply befalls the round once. */
  quirk: z.enum(QUIRK_NAMES).optional(),
  usage: z
    .strictObject({
      input_tokens: tokens.optional(),
      output_tokens: tokens.optional(),
      /** Of the input. */
      cached_input_tokens: tokens.optional(),
      /** Of the input: put into the provider's cache. */
      cache_write_tokens: tokens.optional(),
      /** Of the output. */
      reasoning_tokens: tokens.optional(),
    })
    .optional(),
});

const faultSchema = z.strictObject({
  kind: z.enum([...FAULT_KINDS, ...QUIRK_NAMES]),
  /** The round that it befalls, from 1. A round that is asked again is the same round. Not said: whichever comes. */
  round: z.int().min(1).optional(),
  /** How often. */
  times: z.union([z.int().min(1), z.literal("always")]).default(1),
  /** Of the slow ones: how long. */
  ms: z.int().min(0).default(1000),
  /** Of `rate_limited`, `unavailable` and `overloaded`: what the header `retry-after` says. Not said: no such header. */
  retry_after_s: z.number().min(0).optional(),
  retry_after_as: z.enum(["seconds", "date"]).default("seconds"),
  /** Of the cuts: the stream is ended in good form, as some proxies do, instead of torn. */
  clean: z.boolean().default(false),
});

const chaosSchema = z.strictObject({
  /** The share of requests that go wrong. */
  rate: z.number().min(0).max(1),
  seed: z.int().default(1),
  kinds: z
    .array(z.enum([...FAULT_KINDS, ...QUIRK_NAMES]))
    .min(1)
    .optional(),
  ms: z.int().min(0).default(50),
});

export const scriptSchema = z.strictObject({
  rounds: z.array(roundSchema).min(1),
  /** Begin again after the last round, instead of refusing. */
  repeat: z.boolean().default(false),
  faults: z.array(faultSchema).optional(),
  chaos: chaosSchema.optional(),
});

export const faultsSchema = z.array(faultSchema);
export { chaosSchema };

export type Round = Readonly<z.input<typeof roundSchema>>;
export type Fault = Readonly<z.output<typeof faultSchema>>;
export type FaultInput = Readonly<z.input<typeof faultSchema>>;
export type Chaos = Readonly<z.output<typeof chaosSchema>>;
export type ChaosInput = Readonly<z.input<typeof chaosSchema>>;
export type Script = Readonly<z.input<typeof scriptSchema>>;

/** Throws with the place of what is wrong in it. */
export function readScript(file: string): Script {
  const text = readFileSync(file, "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`Cannot use the script "${file}": it is not JSON`, { cause: error });
  }
  return parseAs(scriptSchema, value, `the script "${file}"`);
}

/** Throws an error that says what is wrong, and where, in words for a person. */
export function parseAs<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`Cannot use ${what}: ${z.prettifyError(parsed.error)}`);
}
