import type { Hono } from "hono";
import type { Bell } from "../../queue/bell.ts";
import type { Store } from "../../store/store.ts";
import { addApprovalRoutes } from "./approval-routes.ts";
import { streamEvents } from "./event-stream.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import { taskBody } from "./task-body.ts";

export interface RouteParts {
  readonly store: Store;
  /** Rings whenever something was recorded. */
  readonly bell: Bell;
  /** A task was taken in, or may go on; whoever runs tasks should look. */
  readonly onTask: () => void;
  /** What people write is stored, so it passes the redactor first. */
  readonly redact: (text: string) => string;
  /** Whoever follows a task is let go when this is aborted. */
  readonly closing: AbortSignal;
  readonly log: (line: string) => void;
}

const PAGE = 50;

/** `/api`: every route in one place. */
export function addRoutes(app: Hono, parts: RouteParts): void {
  const { store, redact } = parts;

  app.post("/api/tasks", async (context) => {
    const body = readBody(await context.req.arrayBuffer(), { schema: taskBody, example: '{"text":"/ls ."}' });
    if ("problem" in body) return problem(context, 400, body.problem);
    const { text, chat, id = "" } = body.value;
    // Both are kept as they are: with something cut out, one chat or message would be taken for another.
    if (redact(chat) !== chat || redact(id) !== id)
      return problem(context, 400, '"chat" and "id" may not hold a secret: they are names, and kept as they are');
    const { task_id, run_id, duplicate } = await store.inbox.ingest({
      source: "http",
      lane: `http:${chat}`,
      text: redact(text),
      ...(id === "" ? {} : { external_id: id }),
    });
    parts.onTask();
    if (context.req.header("accept")?.includes("application/json") === true)
      return context.json({ task_id, run_id, duplicate }, 202);
    context.header("X-Task-Id", task_id);
    return streamEvents(context, { ...parts, task_id, run_id, after: 0 });
  });

  app.get("/api/tasks", async (context) => {
    const after = readNumber(context.req.query("after"));
    return context.json(await store.tasks.list({ limit: PAGE, ...(after > 0 ? { after } : {}) }));
  });

  app.get("/api/tasks/:id", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    return details === undefined
      ? problem(context, 404, `There is no task "${context.req.param("id")}"`)
      : context.json(details);
  });

  addApprovalRoutes(app, parts);

  app.get("/api/tasks/:id/events", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    if (details === undefined) return problem(context, 404, `There is no task "${context.req.param("id")}"`);
    const { task_id, run_id } = details.task;
    return streamEvents(context, { ...parts, task_id, run_id, after: readNumber(context.req.header("last-event-id")) });
  });
}

/** A whole number above 0; anything else is 0, which asks for everything. */
function readNumber(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
