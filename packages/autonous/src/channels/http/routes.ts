import type { Hono } from "hono";
import { z } from "zod";
import { nameInHeading, withQuotations } from "../../model/prompt/quoted.ts";
import type { Bell } from "../../queue/bell.ts";
import type { Store } from "../../store/store.ts";
import { TASK_STATE_NAMES } from "../../store/queue/task-states.ts";
import { addApprovalRoutes } from "./approval-routes.ts";
import { addArtifactRoute } from "./artifact-routes.ts";
import { addAuditRoute } from "./audit-routes.ts";
import { streamEvents } from "./event-stream.ts";
import { HTTP_LANE, laneOf } from "./lane-of.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import { pageLimit, pagePlace, readNumber, readQuery } from "./read-query.ts";
import { addRecordStream, isHead, STREAM_HEAD } from "./record-stream.ts";
import { addTaskActions } from "./task-actions.ts";
import { taskBody } from "./task-body.ts";

export interface RouteParts {
  readonly store: Store;
  /** The folder that contains the runs, as a real path without links. */
  readonly state_dir: string;
  /** Rings when an event was recorded. */
  readonly bell: Bell;
  /** A task was added or may continue: wakes the worker. */
  readonly onTask: () => void;
  /** Applied to user text before it is stored. */
  readonly redact: (text: string) => string;
  /** Aborting it ends open event streams. */
  readonly closing: AbortSignal;
  readonly log: (line: string) => void;
}

const taskQuery = z.strictObject({
  state: z.enum(TASK_STATE_NAMES).optional(),
  chat: z.string().optional(),
  limit: pageLimit,
  after: pagePlace,
});

/** `/api`: every route in one place. */
export function addRoutes(app: Hono, parts: RouteParts): void {
  const { store, redact } = parts;

  app.post("/api/tasks", async (context) => {
    const body = readBody(await context.req.arrayBuffer(), { schema: taskBody, example: '{"text":"/ls ."}' });
    if ("problem" in body) return problem(context, 400, body.problem);
    const { text, quoted, chat, id = "", skill, run_at } = body.value;
    // Both are stored unredacted: redacted, two chats or messages could become the same one.
    if (redact(chat) !== chat || redact(id) !== id)
      return problem(context, 400, '"chat" and "id" must not contain a secret: they are stored unredacted');
    const { task_id, run_id, duplicate } = await store.inbox.ingest({
      source: "http",
      lane: `${HTTP_LANE}${chat}`,
      text: withQuotations(
        redact(text),
        quoted.map((each) => ({
          heading: `Quoted from ${nameInHeading(redact(each.from))}`,
          text: redact(each.text),
        })),
      ),
      ...(id === "" ? {} : { external_id: id }),
      ...(skill === undefined ? {} : { skill }),
      ...(run_at === undefined ? {} : { run_at: Date.parse(run_at) }),
    });
    parts.onTask();
    if (context.req.header("accept")?.includes("application/json") === true)
      return context.json({ task_id, run_id, duplicate }, 202);
    context.header("X-Task-Id", task_id);
    return streamEvents(context, { ...parts, task_id, run_id, after: 0 });
  });

  app.get("/api/tasks", async (context) => {
    const asked = readQuery(context, taskQuery);
    if ("problem" in asked) return problem(context, 400, asked.problem);
    const { chat, ...filter } = asked.value;
    return context.json(await store.tasks.list({ ...filter, ...(chat === undefined ? {} : { lane: laneOf(chat) }) }));
  });

  app.get("/api/tasks/:id", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    return details === undefined
      ? problem(context, 404, `Task "${context.req.param("id")}" not found`)
      : context.json(details);
  });

  addTaskActions(app, parts);
  addApprovalRoutes(app, parts);
  addAuditRoute(app, parts);
  addRecordStream(app, parts);
  addArtifactRoute(app, parts);

  app.get("/api/tasks/:id/events", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    if (details === undefined) return problem(context, 404, `Task "${context.req.param("id")}" not found`);
    if (isHead(context)) return context.body(null, 200, STREAM_HEAD);
    const { task_id, run_id } = details.task;
    return streamEvents(context, { ...parts, task_id, run_id, after: readNumber(context.req.header("last-event-id")) });
  });
}
