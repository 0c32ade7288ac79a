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
  /** Where the runs' folders are, without links on the way. */
  readonly state_dir: string;
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
    // Both are kept as they are: with something cut out, one chat or message would be taken for another.
    if (redact(chat) !== chat || redact(id) !== id)
      return problem(context, 400, '"chat" and "id" may not hold a secret: they are names, and kept as they are');
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
      ? problem(context, 404, `There is no task "${context.req.param("id")}"`)
      : context.json(details);
  });

  addTaskActions(app, parts);
  addApprovalRoutes(app, parts);
  addAuditRoute(app, parts);
  addRecordStream(app, parts);
  addArtifactRoute(app, parts);

  app.get("/api/tasks/:id/events", async (context) => {
    const details = await store.tasks.get(context.req.param("id"));
    if (details === undefined) return problem(context, 404, `There is no task "${context.req.param("id")}"`);
    if (isHead(context)) return context.body(null, 200, STREAM_HEAD);
    const { task_id, run_id } = details.task;
    return streamEvents(context, { ...parts, task_id, run_id, after: readNumber(context.req.header("last-event-id")) });
  });
}
