import { createOpenAI } from "@ai-sdk/openai";
import { expect, onTestFinished, test } from "vitest";
import { FAULT_KINDS } from "./fault-kinds.ts";
import type { FaultKind } from "./fault-kinds.ts";
import type { FaultInput } from "./script.ts";
import { startFakeModel } from "./server.ts";
import type { FakeModel, FakeModelOptions } from "./server.ts";

const ROUND = {
  text: "Grüße aus dem Netz",
  calls: [{ name: "read", arguments: { path: "a file with a long name.ts" } }],
};

const FORMATS = {
  chat: { path: "/v1/chat/completions", body: { model: "gpt-4.1", messages: [{ role: "user", content: "hello" }] } },
  responses: { path: "/v1/responses", body: { model: "gpt-5", input: "hello" } },
  anthropic: {
    path: "/v1/messages",
    body: { model: "claude", max_tokens: 10, messages: [{ role: "user", content: "hello" }] },
  },
  gemini: {
    path: "/v1beta/models/gemini-2.5-pro:generateContent",
    body: { contents: [{ role: "user", parts: [{ text: "hello" }] }] },
  },
} as const;

type FormatKey = keyof typeof FORMATS;

async function open(options: FakeModelOptions): Promise<FakeModel> {
  const model = await startFakeModel({ key: null, script: { rounds: [ROUND], repeat: true }, ...options });
  onTestFinished(() => model.close());
  return model;
}

async function post(
  { url }: FakeModel,
  format: FormatKey,
  { stream = true, signal = undefined as AbortSignal | undefined } = {},
): Promise<Response> {
  const { path, body } = FORMATS[format];
  const isGemini = format === "gemini";
  const address = isGemini && stream ? `${path.replace(":g", ":streamG")}?alt=sse` : path;
  return await fetch(url + address, {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
    body: JSON.stringify(isGemini || !stream ? body : { ...body, stream }),
    signal: signal ?? null,
  });
}

/** The received body, and whether it is complete. */
async function read(response: Response): Promise<{ bytes: Buffer; text: string; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let isWhole = true;
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk as Uint8Array);
  } catch {
    isWhole = false; // an aborted connection is the requested fault
  }
  const bytes = Buffer.concat(chunks);
  return { bytes, text: bytes.toString("utf8"), isWhole };
}

const END: Readonly<Record<FormatKey, string>> = {
  chat: "[DONE]",
  responses: "response.completed",
  anthropic: "message_stop",
  gemini: '"finishReason":"STOP"',
};

for (const format of Object.keys(FORMATS) as FormatKey[]) {
  const once = async (fault: FaultInput): Promise<FakeModel> => await open({ faults: [fault] });

  // oxfmt-ignore
  const STATUSES: readonly { kind: FaultKind; status: number }[] = [
    { kind: "rate_limited", status: 429 },
    { kind: "server_error", status: 500 },
    { kind: "unavailable",  status: 503 },
    { kind: "overloaded",   status: 529 },
  ];
  for (const { kind, status } of STATUSES) {
    test(`${format}: ${kind} is ${status}, and the round can be asked again`, async () => {
      const server = await once({ kind });
      const response = await post(server, format);
      expect(response.status).toBe(status);
      expect(response.headers.get("retry-after")).toBeNull();
      expect(await response.json()).toHaveProperty("error.message");
      expect((await read(await post(server, format))).text).toContain(END[format]);
      expect(server.requests.map((each) => [each.round, each.fault, each.status])).toEqual([
        [1, kind, status],
        [1, undefined, 200],
      ]);
    });
  }

  test(`${format}: a stream is torn before its content`, async () => {
    const { text, isWhole } = await read(await post(await once({ kind: "cut_before_content" }), format));
    expect(isWhole).toBe(false);
    expect(text).not.toContain("Gr");
  });

  test(`${format}: a stream is torn after its content`, async () => {
    const { text, isWhole } = await read(await post(await once({ kind: "cut_after_content" }), format));
    expect([isWhole, text.includes("read"), text.includes(END[format])]).toEqual([false, true, false]);
  });

  test(`${format}: a stream ends in good form without its end`, async () => {
    const { text, isWhole } = await read(await post(await once({ kind: "cut_after_content", clean: true }), format));
    expect([isWhole, text.includes("read"), text.includes(END[format])]).toEqual([true, true, false]);
  });

  test(`${format}: a stream is torn inside a call`, async () => {
    const { text, isWhole } = await read(await post(await once({ kind: "cut_in_call" }), format));
    expect([isWhole, text.includes("read"), text.includes("name.ts")]).toEqual([false, true, false]);
  });

  test(`${format}: a stream is torn inside a character`, async () => {
    const { bytes, isWhole } = await read(await post(await once({ kind: "cut_in_character" }), format));
    expect(isWhole).toBe(false);
    expect(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes)).toThrow(TypeError);
  });

  test(`${format}: a stream has an error in it`, async () => {
    const { text, isWhole } = await read(await post(await once({ kind: "error_in_stream" }), format));
    expect([isWhole, /"error"/.test(text), text.includes(END[format])]).toEqual([true, true, false]);
  });

  test(`${format}: a chunk is malformed`, async () => {
    const { text } = await read(await post(await once({ kind: "malformed_chunk" }), format));
    const datas = [...text.matchAll(/^data: (.*?)\r?$/gm)].map((match) => match[1] ?? "");
    expect(datas.filter((data) => data !== "[DONE]" && !isJson(data))).toHaveLength(1);
  });

  test(`${format}: chunks come twice`, async () => {
    const { text } = await read(await post(await once({ kind: "duplicated_chunks" }), format));
    const lines = [...text.matchAll(/^data: .*Grüße.*$/gm)].map(String);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(lines[0]).toBe(lines[1]);
    expect(text).toContain(END[format]);
  });

  test(`${format}: a reply ends by its length, in the middle of its call`, async () => {
    const { text } = await read(await post(await once({ kind: "length" }), format));
    expect(text).toMatch(/"length"|"max_tokens"|"max_output_tokens"|MAX_TOKENS/);
    expect(text).not.toContain("name.ts");
  });

  test(`${format}: a page comes instead`, async () => {
    const response = await post(await once({ kind: "wrong_content_type" }), format);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await response.text()).toContain("<html>");
  });

  for (const stream of [true, false]) {
    test(`${format}: a connection is reset${stream ? "" : ", not streamed"}`, async () => {
      await expect(post(await once({ kind: "reset" }), format, { stream })).rejects.toThrow("fetch failed");
    });

    test(`${format}: slow answers arrive complete${stream ? "" : ", not streamed"}`, async () => {
      const server = await open({
        faults: [
          { kind: "slow_first_byte", ms: 5 },
          { kind: "slow_drip", ms: 1 },
        ],
      });
      const parts = [
        await read(await post(server, format, { stream })),
        await read(await post(server, format, { stream })),
      ];
      for (const { text, isWhole } of parts) expect([isWhole, text.includes("read")]).toEqual([true, true]);
      expect(server.requests.map((each) => each.round)).toEqual([1, 2]);
    });

    for (const kind of ["hang", "hang_in_stream"] as const) {
      test(`${format}: ${kind} lasts until the client gives up${stream ? "" : ", not streamed"}`, async () => {
        const server = await once({ kind });
        const gone = new AbortController();
        const asked = post(server, format, { stream, signal: gone.signal }).then((response) => read(response));
        await expect.poll(() => server.requests.length).toBe(1);
        if (kind === "hang_in_stream") await expect.poll(() => server.requests[0]?.status ?? "hanging").toBe("hanging");
        gone.abort();
        await asked.then(
          ({ isWhole }) => expect(isWhole).toBe(false),
          (error: unknown) => expect(error).toHaveProperty("name", "AbortError"),
        );
        await expect.poll(() => server.requests[0]?.answered_ms).toBeDefined();
      });
    }
  }

  for (const kind of [
    "cut_before_content",
    "cut_after_content",
    "cut_in_call",
    "cut_in_character",
    "malformed_chunk",
  ] as const) {
    test(`${format}: ${kind} of an answer that is not streamed leaves no JSON`, async () => {
      const { text, isWhole } = await read(await post(await once({ kind }), format, { stream: false }));
      expect(isJson(text)).toBe(false);
      expect(isWhole).toBe(kind === "malformed_chunk");
    });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("the header says when to come back, in seconds or as a date", async () => {
  const server = await open({
    faults: [
      { kind: "rate_limited", retry_after_s: 7 },
      { kind: "rate_limited", retry_after_s: 7, retry_after_as: "date" },
    ],
  });
  expect((await post(server, "chat")).headers.get("retry-after")).toBe("7");
  const date = (await post(server, "chat")).headers.get("retry-after") ?? "";
  expect(date).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  expect(Date.parse(date)).toBeGreaterThan(Date.now());
});

test("a fault befalls its round, as often as it says", async () => {
  const server = await open({ faults: [{ kind: "server_error", round: 2, times: 2 }] });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    const response = await post(server, "chat");
    await response.text();
    statuses.push(response.status);
  }
  expect(statuses).toEqual([200, 500, 500, 200, 200]);
  expect(server.requests.map(({ round }) => round)).toEqual([1, 2, 2, 2, 3]);
});

test("chaos is the same for the same seed", async () => {
  const outcomes = async (seed: number): Promise<unknown[]> => {
    const server = await open({
      chaos: { rate: 0.6, seed, ms: 0, kinds: FAULT_KINDS.filter((kind) => !/hang|drip/.test(kind)) },
    });
    for (let i = 0; i < 20; i++)
      await post(server, "anthropic").then(
        (response) => read(response),
        () => undefined,
      );
    return server.requests.map(({ fault }) => fault);
  };
  const first = await outcomes(7);
  expect(await outcomes(7)).toEqual(first);
  expect(await outcomes(8)).not.toEqual(first);
  expect(new Set(first).size).toBeGreaterThan(4);
});

test("closing ends what hangs", async () => {
  const server = await startFakeModel({ key: null, faults: [{ kind: "hang" }] });
  const asked = post(server, "chat");
  await expect.poll(() => server.requests.length).toBe(1);
  await server.close();
  await expect(asked).rejects.toThrow("fetch failed");
});

test("a client sees a cut stream as an error or as a stream without an end, never as an answer", async () => {
  for (const clean of [true, false]) {
    const server = await open({ faults: [{ kind: "cut_in_call", clean }] });
    const model = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" }).chat("gpt-4.1");
    const finishes: string[] = [];
    try {
      const { stream } = await model.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "x" }] }] });
      for await (const part of stream) if (part.type === "finish") finishes.push(part.finishReason.unified);
    } catch (error) {
      finishes.push((error as Error).name);
    }
    expect(finishes).not.toContain("stop");
    expect(finishes).not.toContain("tool-calls");
  }
});

// oxfmt-ignore
const WRONG: readonly { title: string; options: FakeModelOptions; says: RegExp }[] = [
  { title: "no rounds",             options: { script: { rounds: [] } }, says: /Cannot use the script: .*rounds/s },
  { title: "a fault of no kind",    options: { faults: [{ kind: "fire" as never }] }, says: /Cannot use the faults: .*kind/s },
  { title: "two sets of arguments", options: { script: { rounds: [{ calls: [{ name: "a", arguments: {}, arguments_text: "" }] }] } }, says: /arguments or arguments_text, not both/ },
];
for (const { title, options, says } of WRONG) {
  test(`${title} is refused at the start`, async () => {
    await expect(startFakeModel(options)).rejects.toThrow(says);
  });
}
