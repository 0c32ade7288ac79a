import { parseStrictJson } from "@autonous/runtime";
import type { z } from "zod";
import { syntaxReason } from "../../model/json-syntax.ts";

/** Reads the JSON body of a request; or says what is wrong with it. */
export function readBody<Schema extends z.ZodType>(
  bytes: ArrayBuffer,
  { schema, example }: { readonly schema: Schema; readonly example: string },
): { readonly value: z.output<Schema> } | { readonly problem: string } {
  let value: unknown;
  try {
    value = parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    const reason = error instanceof SyntaxError ? syntaxReason(error) : (error as Error).message;
    return { problem: `The body is not valid JSON: ${reason}. Example: ${example}` };
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  return {
    problem: parsed.error.issues
      .map((issue) => `"${issue.path.map(String).join(".") || "body"}": ${issue.message}`)
      .join("; "),
  };
}
