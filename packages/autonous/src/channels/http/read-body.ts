import { parseStrictJson } from "@autonous/runtime/internal";
import type { z } from "zod";
import { syntaxReason } from "../../model/calls/json-syntax.ts";

/** Reads the JSON body of a request, or returns what is wrong with it. */
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

/** A parameter of a media type: `charset=utf-8`, `CharSet = "UTF-8"`, and the unusual `charset*=…`. */
const CHARSET = /(?<=[;,\s])charset\*?\s*=\s*("(?:[^"\\]|\\.)*"?|[^;,\s]*)/gi;
/** Clients send both; the second one is not registered. */
const UTF_8: ReadonlySet<string> = new Set(["utf-8", "utf8"]);

/** Why the headers rule a body out: it is compressed, or not in UTF-8. */
export function foreignForm(encoding: string | undefined, type: string | undefined): string | undefined {
  const coding = (encoding ?? "")
    .split(",")
    .map((each) => each.trim())
    .find((each) => each !== "" && each.toLowerCase() !== "identity");
  if (coding !== undefined)
    return `The body has Content-Encoding ${JSON.stringify(coding)}, which is not supported: send it uncompressed, without that header`;
  const charset = [...(type ?? "").matchAll(CHARSET)]
    .map(([, value = ""]) => value.replaceAll(/^"|"$/g, "").trim())
    .find((value) => !UTF_8.has(value.toLowerCase()));
  if (charset === undefined) return undefined;
  return `The body has the charset ${JSON.stringify(charset)}, which is not supported: send JSON in UTF-8, with "Content-Type: application/json"`;
}
