import { APPROVAL_STATES, approvalAnswer } from "@autonous/runtime/internal";
import type { ApprovalAnswer } from "@autonous/runtime";
import type { ApprovalState } from "@autonous/runtime/internal";
import type { Context, Hono } from "hono";
import { checkOffer } from "../words/check-offer.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import type { RouteParts } from "./routes.ts";

const STATES = Object.keys(APPROVAL_STATES);

const ANSWER = { schema: approvalAnswer.omit({ via: true }), example: '{"answer":"grant"}' } as const;

/** `/api/approvals` and `/api/grants`: pending requests and the answers to them. */
export function addApprovalRoutes(app: Hono, parts: RouteParts): void {
  const { approvals } = parts.store;

  app.get("/api/approvals", async (context) => {
    const state = context.req.query("state") ?? "pending";
    if (state !== "all" && !STATES.includes(state))
      return problem(context, 400, `Invalid state "${state}": use all or one of ${STATES.join(", ")}`);
    return context.json({ approvals: await approvals.list(state === "all" ? {} : { state: state as ApprovalState }) });
  });

  app.get("/api/approvals/:id", async (context) => {
    const approval = await approvals.get(context.req.param("id"));
    return approval === undefined ? noApproval(context) : context.json(approval);
  });

  app.post("/api/approvals/:id", async (context) => {
    const body = readBody(await context.req.arrayBuffer(), ANSWER);
    if ("problem" in body) return problem(context, 400, body.problem);
    const wrong = findSecret(body.value, parts.redact);
    if (wrong !== undefined) return problem(context, 400, wrong);
    const { by = "http", ...answer } = body.value;
    const asked = await approvals.get(context.req.param("id"));
    const tooWide = asked === undefined ? undefined : checkOffer(asked.request, answer);
    if (tooWide !== undefined) return problem(context, 400, tooWide);
    const taken = await approvals.answer(context.req.param("id"), { ...answer, by, via: "http" });
    if (taken === undefined) return noApproval(context);
    if (taken.won) parts.onTask();
    return context.json(taken, taken.won ? 200 : 409);
  });

  app.get("/api/grants", async (context) => context.json({ grants: await approvals.grants() }));

  app.delete("/api/grants/:id", async (context) =>
    (await approvals.revoke(context.req.param("id")))
      ? context.json({ revoked: true })
      : problem(context, 404, `Active grant "${context.req.param("id")}" not found`),
  );
}

function noApproval(context: Context): Response {
  return problem(context, 404, `Approval "${context.req.param("id")}" not found`);
}

/** An answer is stored unchanged: redacting its arguments would make it approve a different call. */
function findSecret(answer: ApprovalAnswer, redact: RouteParts["redact"]): string | undefined {
  const text = JSON.stringify(answer);
  return redact(text) === text ? undefined : "The answer must not contain a secret: it is stored unredacted";
}
