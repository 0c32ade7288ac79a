import { expect, test } from "vitest";
import { EVENT_PAYLOADS } from "../../../../runtime/src/protocol/event-payloads.ts";
import { LINES } from "./task-audit.ts";

for (const [type, line] of Object.entries(LINES)) {
  test(`the history of a task shows the content of ${type}`, () => {
    const fields = Object.keys(EVENT_PAYLOADS[type as keyof typeof EVENT_PAYLOADS]).map((name) =>
      name.replace("?", ""),
    );
    const asked: string[] = [];
    const payload = new Proxy<Record<string, unknown>>(
      {},
      {
        get: (_, name) => {
          asked.push(String(name));
          return { name: "x" };
        },
      },
    );
    line.message(payload);

    expect(fields).toEqual(expect.arrayContaining(asked));
  });
}
