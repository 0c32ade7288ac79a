import { expect, test } from "vitest";
import { askOnce, connectTo, raw } from "../../../../../test/support/model-asking.ts";
import { FORMATS } from "../../../../../test/support/model-events.ts";
import { startModelServer } from "../../../../../test/support/model-server.ts";
import type { Answer } from "../../../../../test/support/model-server.ts";
import type { AiSdkOptions } from "../ai-sdk-provider.ts";

type Kind = AiSdkOptions["kind"];
const KINDS = Object.keys(FORMATS) as Kind[];

function lines(events: readonly unknown[], { end = "\n", space = " " } = {}): string {
  return events
    .map((event) => {
      const type = (event as { type?: unknown }).type;
      const named = typeof type === "string" ? `event:${space}${type}${end}` : "";
      return `${named}data:${space}${typeof event === "string" ? event : JSON.stringify(event)}${end}${end}`;
    })
    .join("");
}

function bytesOf(text: string): readonly Uint8Array[] {
  return [...Buffer.from(text)].map((byte) => Uint8Array.of(byte));
}

/** Without what follows the finish reason: `[DONE]`, usage, `message_stop`. */
const FINISH: Partial<Record<Kind, number>> = { anthropic: -1, "openai-chat": -2, compatible: -2 };
/** Without the finish reason too. */
const UNFINISHED: Readonly<Record<Kind, number>> = {
  anthropic: -2,
  openai: -1,
  "openai-chat": -3,
  google: -1,
  compatible: -3,
};

// oxfmt-ignore
const BODIES: readonly { title: string; answer: (text: string, events: readonly unknown[], kind: Kind) => Answer }[] = [
  { title: "is left open after its end",              answer: (text) => raw(text, { end: "never" }) },
  { title: "is torn after its end",                   answer: (text) => raw(text, { end: "torn" }) },
  { title: "is torn after the finish reason",         answer: (_, events, kind) => raw(lines(events.slice(0, FINISH[kind])), { end: "torn" }) },
  { title: "is left open after the finish reason",    answer: (_, events, kind) => raw(lines(events.slice(0, FINISH[kind])), { end: "never" }) },
  { title: "ends after the finish reason",            answer: (_, events, kind) => raw(lines(events.slice(0, FINISH[kind]))) },
  { title: "has CRLF",                                answer: (_, events) => raw(lines(events, { end: "\r\n" })) },
  { title: "has CR",                                  answer: (_, events) => raw(lines(events, { end: "\r" })) },
  { title: "has no space after data:",                answer: (_, events) => raw(lines(events, { space: "" })) },
  { title: "begins with a BOM",                       answer: (text) => raw(`\uFEFF${text}`) },
  { title: "begins with empty lines",                 answer: (text) => raw(`\n\n\r\n${text}`) },
  { title: "comes byte by byte",                      answer: (text) => raw(bytesOf(text)) },
  { title: "comes byte by byte with CRLF",            answer: (_, events) => raw(bytesOf(lines(events, { end: "\r\n" }))) },
  { title: "has comments and other fields between",   answer: (_, events) => raw(`: hello\n\n${events.map((event) => `: OPENROUTER PROCESSING\n\nid: 7\nretry: 10\n${lines([event])}`).join("")}`) },
  { title: "has data of several lines",               answer: (_, events) => raw(events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event, undefined, 1).replaceAll("\n", "\ndata: ")}\n\n`).join("")) },
  { title: "has no empty line at its end",            answer: (text) => raw(text.trimEnd()) },
  { title: "has plain words of a gateway between",    answer: (_, events) => raw(events.map((event) => `data: ping\n\ndata:\n\n${lines([event])}`).join("")) },
  { title: "goes on after its end",                   answer: (text, _, kind) => raw(`${text}${kind === "google" ? "" : `data: {"oops\n\n${text}`}`) },
  { title: "is said to be JSON",                      answer: (text) => raw(text, { type: "application/json" }) },
  { title: "is said to be text",                      answer: (text) => raw(text, { type: "text/plain; charset=utf-8" }) },
  { title: "is JSON line by line",                    answer: (_, events) => raw(`${events.filter((event) => typeof event !== "string").map((event) => JSON.stringify(event)).join("\n")}\n`, { type: "application/x-ndjson" }) },
];

for (const kind of KINDS) {
  const format = FORMATS[kind];
  if (format === undefined) throw new Error(`No events for ${kind}`);
  for (const { title, answer } of BODIES) {
    test(`${kind}: a complete answer that ${title} is accepted with one request`, async () => {
      const events = format.answer("Grüße, 世界 🌍.");
      const server = await startModelServer([answer(lines(events), events, kind)]);
      const { reply, asked, shown, spent, error } = await askOnce(server, connectTo(server, kind));
      expect(error?.message).toBeUndefined();
      expect(reply).toMatchObject({ text: "Grüße, 世界 🌍.", calls: [], finish: "stop" });
      expect(shown).toBe("Grüße, 世界 🌍.");
      expect([asked, spent]).toEqual([1, []]);
    });

    test(`${kind}: calls in an answer that ${title} are accepted`, async () => {
      const server = await startModelServer([answer(lines(format.calls), format.calls, kind)]);
      const { reply } = await askOnce(server, connectTo(server, kind));
      expect(reply?.kind === "native" && reply.calls.map(({ name, input }) => [name, input])).toEqual([
        ["read", '{"path":"a.ts"}'],
        ["read", '{"path":"b.ts"}'],
      ]);
    });
  }

  test(`${kind}: an answer is shown while it arrives`, async () => {
    const server = await startModelServer([
      raw(lines(format.answer("Hello.").slice(0, UNFINISHED[kind])), { end: "never" }),
    ]);
    const stop = new AbortController();
    let shown = "";
    const asking = connectTo(server, kind).complete(
      { system: "", messages: [{ role: "user", text: "Hi." }], rounds: 0, tools: [] },
      {
        signal: stop.signal,
        onDelta: ({ text }) => {
          shown += text;
          stop.abort(new Error("enough"));
        },
      },
    );
    await expect(asking).rejects.toThrow("enough");
    expect(shown).toBe("Hello.");
  });

  const title = kind === "google" ? "is taken" : "is asked for once more, and then taken as the server's habit";
  test(`${kind}: an answer that ends without a finish reason ${title}`, async () => {
    const server = await startModelServer([raw(lines(format.answer("Hello.").slice(0, UNFINISHED[kind])))]);
    const provider = connectTo(server, kind);
    const first = await askOnce(server, provider);
    const asked = kind === "google" ? 1 : 2;
    expect([first.reply?.text, first.asked]).toEqual(["Hello.", asked]);
    expect((await askOnce(server, provider)).asked).toBe(asked + 1);
  });

  test(`${kind}: a connection torn before the finish reason is not an answer`, async () => {
    const torn = raw(lines(format.answer("Hello.").slice(0, UNFINISHED[kind])), { end: "torn" });
    const server = await startModelServer([torn, torn, torn, raw(lines(format.answer("All.")))]);
    const { reply, asked, spent } = await askOnce(server, connectTo(server, kind));
    expect([reply?.text, asked, spent.length]).toEqual(["All.", 4, 3]);
  });
}
