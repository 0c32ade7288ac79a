import type { Context } from "hono";
import { z } from "zod";

const PAGE = 50;
const MOST = 500;

/** How many a page holds at most. */
export const pageLimit = z.coerce.number().int().min(1).max(MOST).default(PAGE);
/** What the page before gave as `next`. */
export const pagePlace = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional();

/** Without the fields that were not given. */
type Given<T> = { readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>;
};

/** Reads what stands after the `?`; or says what is wrong with it. */
export function readQuery<Schema extends z.ZodType<object>>(
  context: Context,
  schema: Schema,
): { readonly value: Given<z.output<Schema>> } | { readonly problem: string } {
  const twice = Object.entries(context.req.queries()).find(([, values]) => values.length > 1);
  if (twice !== undefined) return { problem: `"${twice[0].slice(0, 100)}": is there ${twice[1].length} times` };
  const parsed = schema.safeParse(context.req.query());
  if (!parsed.success)
    return {
      problem: parsed.error.issues
        .map((issue) => `"${issue.path.map(String).join(".") || "query"}": ${issue.message}`)
        .join("; "),
    };
  const given = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return { value: Object.fromEntries(given) as Given<z.output<Schema>> };
}

/** A whole number above 0; anything else is 0, which asks for everything. */
export function readNumber(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
