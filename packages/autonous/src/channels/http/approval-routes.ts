import { APPROVAL_STATES, approvalAnswer } from "@autonous/runtime";
import type { ApprovalAnswer, ApprovalState } from "@autonous/runtime";
import type { Context, Hono } from "hono";
import { checkOffer } from "../words/check-offer.ts";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";
import type { RouteParts } from "./routes.ts";

const STATES = Object.keys(APPROVAL_STATES);

const ANSWER = { schema: approvalAnswer.omit({ via: true }), example: '{"answer":"grant"}' } as const;

/** `/api/approvals` and `/api/grants`: what waits for a person, and what they have said. */
export function addApprovalRoutes(app: Hono, parts: RouteParts): void {
  const { approvals } = parts.store;

  app.get("/api/approvals", async (context) => {
    const state = context.req.query("state") ?? "pending";
    if (state !== "all" && !STATES.includes(state))
      return problem(context, 400, `There is no state "${state}": it is all, or one of ${STATES.join(", ")}`);
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
      : problem(context, 404, `There is no grant "${context.req.param("id")}" in force`),
  );
}

function noApproval(context: Context): Response {
  return problem(context, 404, `There is no approval "${context.req.param("id")}"`);
}

/** An answer is kept as it is; with something cut out of its arguments, another call would be made than was meant. */
function findSecret(answer: ApprovalAnswer, redact: RouteParts["redact"]): string | undefined {
  const text = JSON.stringify(answer);
  return redact(text) === text ? undefined : "The answer may not hold a secret: it is kept as it is";
}
