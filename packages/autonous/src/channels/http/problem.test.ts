import { Hono } from "hono";
import { expect, test } from "vitest";
import { z } from "zod";
import { problem } from "./problem.ts";
import { readBody } from "./read-body.ts";

const schema = z.strictObject({ text: z.string() });

const BODIES = [
  { title: "100,000 unknown fields", body: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`f${i}`, i])) },
  { title: "a name of 500 kB", body: { text: "x", ["n".repeat(500_000)]: 1 } },
];

for (const { title, body } of BODIES) {
  test(`the answer to a body with ${title} is short`, async () => {
    const app = new Hono().post("/", async (context) => {
      const read = readBody(await context.req.arrayBuffer(), { schema, example: "{}" });
      return "problem" in read ? problem(context, 400, read.problem) : context.text("taken");
    });
    const answer = await app.request("/", { method: "POST", body: JSON.stringify(body) });
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text.length).toBeLessThan(8192);
    expect(text).toContain("more characters");
  });
}
