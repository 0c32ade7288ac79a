import type { Hono, Context } from "hono";
import { z } from "zod";
import { nameInHeading, withQuotations } from "../../model/prompt/quoted.ts";
import type { Notifier } from "../../store/notifier.ts";
import type { Store, TaskAnswer, Tasks } from "../../store/store.ts";
import { TASK_STATE_NAMES } from "../../store/queue/task-states.ts";
import { addApprovalRoutes } from "./approval-routes.ts";
import { addArtifactRoute } from "./artifact-routes.ts";
import { streamEvents } from "./event-stream.ts";
import { HTTP_LANE, laneOf } from "./lane-of.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import { pageLimit, pagePlace, readNumber, readQuery } from "./read-query.ts";
import { addRecordStream, isHead, STREAM_HEAD } from "./record-stream.ts";
import { AUDIT_OUTCOMES } from "../../store/record/audit-filter.ts";

export interface RouteParts {
  readonly store: Store;
  /** The folder that contains the runs, as a real path without links. */
  readonly state_dir: string;
  /** Notified when something was recorded. */
  readonly notifier: Notifier;
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

/** `2026-01-31` or `2026-01-31T12:00:00Z`, as milliseconds. */
const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).transform((text) => Date.parse(text));

const query = z.strictObject({
  tool: z.string().optional(),
  outcome: z.enum(AUDIT_OUTCOMES).optional(),
  actor: z.string().optional(),
  channel: z.string().optional(),
  chat: z.string().optional(),
  run: z.string().optional(),
  since: time.optional(),
  until: time.optional(),
  limit: pageLimit,
  after: pagePlace,
});

/** `GET /api/audit`: the record of calls, newest first. */
function addAuditRoute(app: Hono, { store }: RouteParts): void {
  app.get("/api/audit", async (context) => {
    const asked = readQuery(context, query);
    if ("problem" in asked) return problem(context, 400, asked.problem);
    const { run: run_id, ...filter } = asked.value;
    return context.json(await store.events.audits({ ...filter, ...(run_id === undefined ? {} : { run_id }) }));
  });
}

const ACTIONS = ["cancel", "retry", "drop"] as const satisfies readonly (keyof Tasks)[];

const BODY = { schema: z.strictObject({ by: z.string().min(1).max(200).default("http") }), example: '{"by":"ann"}' };
const STATUS = { done: 200, stopping: 202, refused: 409 } as const satisfies Record<TaskAnswer["outcome"], number>;

/** `POST /api/tasks/:id/cancel|retry|drop` */
function addTaskActions(app: Hono, parts: RouteParts): void {
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
    parts.notifier.notify();
  }
  return context.json(answer, STATUS[answer.outcome]);
}

/** JSON allows strings that are not valid text: lone surrogates (`\ud800`), which cannot be stored, and NUL, which ends a C string. */
const text = z
  .string()
  .refine((value) => value.isWellFormed(), "contains half of a character (a lone surrogate)")
  .refine((value) => !value.includes("\0"), "contains a NUL character");

/** The body of `POST /api/tasks`. */
const taskBody = z.strictObject({
  text: text.trim().min(1).max(100_000),
  /** Text by others that the task is about: passed to the model as quoted data, never run as a command. */
  quoted: z
    .array(z.strictObject({ from: text.max(200).default(""), text: text.max(100_000) }))
    .max(20)
    .default([]),
  /** Tasks of one chat run one at a time and in order. The name is normalized (NFC). */
  chat: text
    .min(1)
    .max(200)
    .transform((name) => name.normalize("NFC"))
    .default("http"),
  /** The skill that restricts the task by its `allowed-tools`. The model is told to read it. */
  skill: text
    .max(64)
    .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "must be a skill name: lower-case letters, digits and single hyphens")
    .optional(),
  /** A message with an id is accepted once, however often it is sent. */
  id: text.min(1).max(200).optional(),
  /** Earliest start time, such as 2026-01-31T08:00:00Z. Later tasks of the chat wait too. */
  run_at: z.iso.datetime({ offset: true }).optional(),
});
