import { boundText } from "@autonous/runtime/internal";
import type { Context } from "hono";

type ProblemStatus = 400 | 401 | 403 | 404 | 411 | 413 | 415 | 500 | 503;

/** The response to a request that cannot be served. */
export function problem(context: Context, status: ProblemStatus, message: string): Response {
  return context.json({ error: { message: boundText(message) } }, status);
}
