import type { Context, Hono } from "hono";
import { z } from "zod";
import type { TaskAnswer, Tasks } from "../../store/store.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import type { RouteParts } from "./routes.ts";

const ACTIONS = ["cancel", "retry", "drop"] as const satisfies readonly (keyof Tasks)[];

const BODY = { schema: z.strictObject({ by: z.string().min(1).max(200).default("http") }), example: '{"by":"ann"}' };
const STATUS = { done: 200, stopping: 202, refused: 409 } as const satisfies Record<TaskAnswer["outcome"], number>;

/** `POST /api/tasks/:id/cancel|retry|drop` */
export function addTaskActions(app: Hono, parts: RouteParts): void {
  for (const action of ACTIONS)
    app.post(`/api/tasks/:id/${action}`, async (context) => await act(context, action, parts));
}

async function act(context: Context, action: (typeof ACTIONS)[number], parts: RouteParts): Promise<Response> {
  const bytes = await context.req.arrayBuffer();
  const body = bytes.byteLength === 0 ? { value: { by: "http" } } : readBody(bytes, BODY);
  if ("problem" in body) return problem(context, 400, body.problem);
  const id = context.req.param("id") ?? "";
  const answer = await parts.store.tasks[action](id, parts.redact(body.value.by));
  if (answer === undefined) return problem(context, 404, `Task "${id}" not found`);
  if (answer.outcome !== "refused") {
    parts.onTask();
    parts.bell.ring();
  }
  return context.json(answer, STATUS[answer.outcome]);
}
