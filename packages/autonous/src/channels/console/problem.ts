import type { Context } from "hono";

/** What a request is answered with that cannot be served. */
export function problem(context: Context, status: 400 | 401 | 403 | 404 | 413 | 500, message: string): Response {
  return context.json({ error: { message } }, status);
}
