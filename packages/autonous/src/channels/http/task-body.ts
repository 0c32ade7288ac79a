import { z } from "zod";

/** JSON can write what is no text: half a character (`\ud800`), which no file and no store keeps, and NUL, which ends text in many a place. */
const text = z
  .string()
  .refine((value) => value.isWellFormed(), "holds half of a character (a lone surrogate)")
  .refine((value) => !value.includes("\0"), "holds a NUL character");

/** The body of `POST /api/tasks`. */
export const taskBody = z.strictObject({
  text: text.trim().min(1).max(100_000),
  /** What others wrote and the task is about: given to the model as quoted data, never run as a command. */
  quoted: z
    .array(z.strictObject({ from: text.max(200).default(""), text: text.max(100_000) }))
    .max(20)
    .default([]),
  /** Tasks of one chat run one at a time and in order. Its name in two forms of Unicode is one name. */
  chat: text
    .min(1)
    .max(200)
    .transform((name) => name.normalize("NFC"))
    .default("http"),
  /** The skill that restricts the task by its `allowed-tools`. The model is told to read it. */
  skill: text
    .max(64)
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "has to be the name of a skill: lower-case letters, digits and single hyphens")
    .optional(),
  /** A message with an id is taken once, however often it is sent. */
  id: text.min(1).max(200).optional(),
  /** Not before this time, such as 2026-01-31T08:00:00Z. What comes after it in its chat waits too. */
  run_at: z.iso.datetime({ offset: true }).optional(),
});
