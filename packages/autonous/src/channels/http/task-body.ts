import { z } from "zod";

/** JSON allows strings that are not valid text: lone surrogates (`\ud800`), which cannot be stored, and NUL, which ends a C string. */
const text = z
  .string()
  .refine((value) => value.isWellFormed(), "contains half of a character (a lone surrogate)")
  .refine((value) => !value.includes("\0"), "contains a NUL character");

/** The body of `POST /api/tasks`. */
export const taskBody = z.strictObject({
  text: text.trim().min(1).max(100_000),
  /** Text by others that the task is about: passed to the model as quoted data, never run as a command. */
  quoted: z
    .array(z.strictObject({ from: text.max(200).default(""), text: text.max(100_000) }))
    .max(20)
    .default([]),
  /** Tasks of one chat run one at a time and in order. The name is normalized (NFC). */
  chat: text
    .min(1)
    .max(200)
    .transform((name) => name.normalize("NFC"))
    .default("http"),
  /** The skill that restricts the task by its `allowed-tools`. The model is told to read it. */
  skill: text
    .max(64)
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "must be a skill name: lower-case letters, digits and single hyphens")
    .optional(),
  /** A message with an id is accepted once, however often it is sent. */
  id: text.min(1).max(200).optional(),
  /** Earliest start time, such as 2026-01-31T08:00:00Z. Later tasks of the chat wait too. */
  run_at: z.iso.datetime({ offset: true }).optional(),
});
