import type { z } from "zod";

/** Reads the JSON body of a request; or says what is wrong with it. */
export function readBody<Schema extends z.ZodType>(
  bytes: ArrayBuffer,
  { schema, example }: { readonly schema: Schema; readonly example: string },
): { readonly value: z.output<Schema> } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    return { problem: `The body is no JSON (${(error as Error).message}). Example: ${example}` };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  return {
    problem: parsed.error.issues
      .map((issue) => `"${issue.path.map(String).join(".") || "body"}": ${issue.message}`)
      .join("; "),
  };
}
