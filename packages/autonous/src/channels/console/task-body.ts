import { z } from "zod";

/** JSON can write what is no text: half a character (`\ud800`), which no file and no store keeps, and NUL, which ends text in many a place. */
const text = z
  .string()
  .refine((value) => value.isWellFormed(), "holds half of a character (a lone surrogate)")
  .refine((value) => !value.includes("\0"), "holds a NUL character");

const taskBody = z.strictObject({
  text: text.trim().min(1).max(100_000),
  /** Tasks of one chat run one at a time and in order. */
  chat: text.min(1).max(200).default("http"),
  /** A message with an id is taken once, however often it is sent. */
  id: text.min(1).max(200).optional(),
});

type TaskBody = z.output<typeof taskBody>;

/** Reads the body of `POST /api/tasks`; or says what is wrong with it. */
export function readTaskBody(bytes: ArrayBuffer): { readonly value: TaskBody } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    return { problem: `The body is no JSON (${(error as Error).message}). Example: {"text":"/ls ."}` };
  }
  const parsed = taskBody.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  return {
    problem: parsed.error.issues
      .map((issue) => `"${issue.path.map(String).join(".") || "body"}": ${issue.message}`)
      .join("; "),
  };
}
