import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, expect, test } from "vitest";
import { createProvider } from "../choose.ts";
import type { ModelProvider, ModelReply } from "../provider.ts";

async function scriptOf(content: unknown): Promise<ModelProvider> {
  const folder = await mkdtemp(join(tmpdir(), "autonous-script-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "script.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return await createProvider(`script:${file}`);
}

function ask(provider: ModelProvider, rounds: number, signal = new AbortController().signal): Promise<ModelReply> {
  return provider.complete({ system: "", messages: [{ role: "user", text: "x" }], rounds, tools: [] }, { signal });
}

test("each round gets its step, whichever was asked before", async () => {
  const reply = { tool_calls: [{ name: "ls", arguments: { path: "." } }], final_answer: "" };
  const provider = await scriptOf([{ reply }, { text: "no JSON", delay_ms: 1 }, { reply: { final_answer: "done" } }]);
  expect(await ask(provider, 2)).toEqual({ kind: "plain", text: '{"final_answer":"done"}', finish: "stop" });
  expect(await ask(provider, 0)).toEqual({ kind: "plain", text: JSON.stringify(reply), finish: "stop" });
  expect(await ask(provider, 1)).toEqual({ kind: "plain", text: "no JSON", finish: "stop" });
  expect(await ask(provider, 0)).toEqual({ kind: "plain", text: JSON.stringify(reply), finish: "stop" });
});

test("a script that is used up fails as a model does", async () => {
  const provider = await scriptOf([{ text: "x" }]);
  await expect(ask(provider, 1)).rejects.toMatchObject({ code: "ModelFailed", message: /has 1 steps, and step 2/ });
});

test("the fault error fails with its message", async () => {
  const provider = await scriptOf([{ fault: "error", message: "overloaded" }, { fault: "error" }]);
  await expect(ask(provider, 0)).rejects.toMatchObject({ code: "ModelFailed", message: "overloaded" });
  await expect(ask(provider, 1)).rejects.toMatchObject({ code: "ModelFailed" });
});

test("the fault length returns the text before the cut", async () => {
  const provider = await scriptOf([
    { fault: "length" },
    { fault: "length", text: "abc" },
    { fault: "length", reply: { final_answer: "a" } },
  ]);
  expect((await ask(provider, 0)).finish).toBe("length");
  expect(await ask(provider, 1)).toEqual({ kind: "plain", text: "abc", finish: "length" });
  expect(await ask(provider, 2)).toEqual({ kind: "plain", text: '{"final_answer":"a"}', finish: "length" });
});

for (const step of [{ fault: "hang" }, { text: "x", delay_ms: 3_600_000 }]) {
  test(`${JSON.stringify(step)} waits until it is called off`, async () => {
    const provider = await scriptOf([step]);
    const stop = new AbortController();
    const asked = ask(provider, 0, stop.signal);
    stop.abort(new Error("called off"));
    await expect(asked).rejects.toThrow("called off");
    await expect(ask(provider, 0, stop.signal)).rejects.toThrow("called off");
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "no JSON",                  content: "[{",                                              says: [/JSON/] },
  { title: "no array",                 content: { reply: {} },                                     says: [/expected array/] },
  { title: "a step that says nothing", content: [{ text: "x" }, {}],                               says: [/1: must have exactly one of/] },
  { title: "a step that says two things", content: [{ text: "x", reply: {} }],                     says: [/0: must have exactly one of/] },
  { title: "a fault with a reply",     content: [{ fault: "error", text: "x" }],                   says: [/0: has no reply/] },
  { title: "a message without a fault", content: [{ text: "x", message: "y" }],                    says: [/0: has a "message" without/] },
  { title: "several problems",         content: [{ fault: "burn" }, { reply: { tool_calls: [{ name: 1 }] } }, { txt: "x" }], says: [/0\.fault/, /1\.reply\.tool_calls\.0\.name/, /1\.reply\.tool_calls\.0\.arguments/, /txt/] },
] as const;

for (const { title, content, says } of REFUSED) {
  test(`a script with ${title} is refused, and every problem is named`, async () => {
    const error: unknown = await scriptOf(content).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "InvalidArguments" });
    for (const each of says) expect((error as Error).message).toMatch(each);
  });
}

for (const setting of ["", "gpt", "script:", "Direct", "anthropic:claude"]) {
  test(`the setting ${JSON.stringify(setting)} is refused with the list of supported forms`, async () => {
    await expect(createProvider(setting)).rejects.toMatchObject({
      code: "InvalidArguments",
      message: /direct, script:<file>/,
    });
  });
}

test("a missing script is refused", async () => {
  await expect(createProvider("script:/nowhere/at/all.json")).rejects.toMatchObject({
    code: "InvalidArguments",
    message: /file not found/,
    hint: /script:<file>/,
  });
});

test("direct needs nothing", async () => {
  expect((await createProvider("direct")).name).toBe("direct");
});
