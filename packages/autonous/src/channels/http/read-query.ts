import type { Context } from "hono";
import { z } from "zod";

const PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 500;

/** Entries per page, at most. */
export const pageLimit = z.coerce.number().int().min(1).max(MAX_PAGE_SIZE).default(PAGE_SIZE);
/** The `next` of the previous page. */
export const pagePlace = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional();

/** Without the fields that were not given. */
type DefinedFields<T> = { readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** Reads the query string, or returns what is wrong with it. */
export function readQuery<Schema extends z.ZodType<object>>(
  context: Context,
  schema: Schema,
): { readonly value: DefinedFields<z.output<Schema>> } | { readonly problem: string } {
  const twice = Object.entries(context.req.queries()).find(([, values]) => values.length > 1);
  if (twice !== undefined) return { problem: `"${twice[0].slice(0, 100)}": given ${twice[1].length} times` };
  const parsed = schema.safeParse(context.req.query());
  if (!parsed.success)
    return {
      problem: parsed.error.issues
        .map((issue) => `"${issue.path.map(String).join(".") || "query"}": ${issue.message}`)
        .join("; "),
    };
  const given = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return { value: Object.fromEntries(given) as DefinedFields<z.output<Schema>> };
}

/** A positive integer; anything else becomes 0, which requests everything. */
export function readNumber(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
