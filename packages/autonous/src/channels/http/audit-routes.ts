import type { Hono } from "hono";
import { z } from "zod";
import { AUDIT_OUTCOMES } from "../../store/record/audit-filter.ts";
import { problem } from "./problem.ts";
import { pageLimit, pagePlace, readQuery } from "./read-query.ts";
import type { RouteParts } from "./routes.ts";

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
export function addAuditRoute(app: Hono, { store }: RouteParts): void {
  app.get("/api/audit", async (context) => {
    const asked = readQuery(context, query);
    if ("problem" in asked) return problem(context, 400, asked.problem);
    const { run: run_id, ...filter } = asked.value;
    return context.json(await store.events.audits({ ...filter, ...(run_id === undefined ? {} : { run_id }) }));
  });
}
