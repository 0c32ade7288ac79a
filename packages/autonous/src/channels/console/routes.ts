import type { Hono } from "hono";
import { z } from "zod";
import type { Store } from "../../store/store.ts";
import type { Bell } from "../bell.ts";
import { streamEvents } from "./event-stream.ts";
import { problem } from "./problem.ts";

export interface RouteParts {
  readonly store: Store;
  /** Rings whenever something was recorded. */
  readonly bell: Bell;
  /** A task was taken in; whoever runs tasks should look. */
  readonly onTask: () => void;
  /** What people write is stored, so it passes the redactor first. */
  readonly redact: (text: string) => string;
}

const taskBody = z.strictObject({
  text: z.string().trim().min(1).max(100_000),
  /** Tasks of one chat run one at a time and in order. */
  chat: z.string().min(1).max(200).default("http"),
  /** A message with an id is taken once, however often it is sent. */
  id: z.string().min(1).max(200).optional(),
});

/** `/api`: every route in one place. */
export function addRoutes(app: Hono, parts: RouteParts): void {
  const { store } = parts;

  app.post("/api/tasks", async (context) => {
    const body = readBody(await context.req.text());
    if ("problem" in body) return problem(context, 400, body.problem);
    const { text, chat, id } = body.value;
    const message = {
      source: "http",
      lane: `http:${chat}`,
      text: parts.redact(text),
      ...(id === undefined ? {} : { external_id: id }),
    };
    const { task_id, run_id, duplicate } = await store.inbox.ingest(message);
    parts.onTask();
    if (context.req.header("accept")?.includes("application/json") === true)
      return context.json({ task_id, run_id, duplicate }, 202);
    context.header("X-Task-Id", task_id);
    return streamEvents(context, { ...parts, task_id, run_id, after: 0 });
  });

  app.get("/api/tasks", async (context) => context.json(await store.tasks.list({ limit: 50 })));

  app.get("/api/tasks/:id", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    return details === undefined
      ? problem(context, 404, `There is no task "${context.req.param("id")}"`)
      : context.json(details);
  });

  app.get("/api/tasks/:id/events", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    if (details === undefined) return problem(context, 404, `There is no task "${context.req.param("id")}"`);
    const after = Number(context.req.header("last-event-id") ?? 0);
    const { task_id, run_id } = details.task;
    return streamEvents(context, {
      ...parts,
      task_id,
      run_id,
      after: Number.isSafeInteger(after) && after > 0 ? after : 0,
    });
  });
}

function readBody(text: string): { readonly value: z.output<typeof taskBody> } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
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
