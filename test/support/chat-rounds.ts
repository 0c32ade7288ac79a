/** Rounds with a server that speaks OpenAI's chat format in some vendor's way, and what it was sent back. */
import type { ToolCallResult } from "@autonous/runtime";
import { createProvider } from "../../packages/autonous/src/model/choose.ts";
import type { ModelSettings } from "../../packages/autonous/src/model/vendors/model-settings.ts";
import type { Message, ModelReply, ModelTool } from "../../packages/autonous/src/model/provider.ts";
import { startModelServer, stream } from "./model-server.ts";
import type { Answer, ReceivedRequest } from "./model-server.ts";

export type Json = Readonly<Record<string, unknown>>;

export const READ: ModelTool = {
  name: "read",
  description: "Read a file.",
  args_schema: { type: "object", properties: { path: { type: "string" } } },
};

export const chunk = (delta: Json, finish_reason: string | null = null): Json => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
});

/** A reply of these pieces; its calls have these ids. */
export function replies(deltas: readonly Json[], ids: readonly string[] = [], usage?: Json): Answer {
  const calls = ids.map((id, index) =>
    chunk({ tool_calls: [{ index, id, type: "function", function: { name: "read", arguments: '{"path":"a"}' } }] }),
  );
  const end = chunk({}, ids.length > 0 ? "tool_calls" : "stop");
  const used = usage === undefined ? [] : [{ ...chunk({}), choices: [], usage }];
  return stream([...deltas.map((delta) => chunk(delta)), ...calls, end, ...used, "[DONE]"]);
}

export interface Rounds {
  /** Below the server's address, such as `deepseek/v1`. */
  readonly path: string;
  readonly model?: string;
  readonly kind?: string;
  readonly settings?: ModelSettings;
  readonly environment?: (url: string) => NodeJS.ProcessEnv;
  /** What was said before. Default: a question. */
  readonly before?: readonly Message[];
  readonly system?: string;
  /** What the server answers before these, without a round of its own. */
  readonly first?: readonly Answer[];
}

interface Played {
  readonly asked: readonly ReceivedRequest[];
  readonly replies: readonly ModelReply[];
  readonly messages: readonly Message[];
}

/** Asks once for each answer, and makes the calls of each reply, as the loop does, with everything as the record has it. */
export async function playRounds(answers: readonly Answer[], how: Rounds): Promise<Played> {
  const { path, model = "m", kind = "compatible", settings = {}, system = "Be brief." } = how;
  const server = await startModelServer([...(how.first ?? []), ...answers]);
  const url = `${server.url}/${path}`;
  const setting = kind.startsWith("compatible") ? `${kind}:${model}@${url}` : `${kind}:${model}`;
  const provider = await createProvider(setting, how.environment?.(url) ?? {}, () => settings);
  const messages: Message[] = [...(how.before ?? [{ role: "user", text: "Compare." }])];
  const got: ModelReply[] = [];
  for (const _ of answers) {
    const request = { system, messages: [...messages], rounds: got.length, tools: [READ] };
    const reply = await provider.complete(request, { signal: new AbortController().signal });
    got.push(reply);
    messages.push(...follow(reply, got.length));
  }
  return { asked: server.asked, replies: got, messages };
}

function follow(reply: ModelReply, round: number): readonly Message[] {
  if (reply.kind === "plain") return [{ role: "assistant", text: reply.text }];
  const calls = reply.calls.map(({ id, name, input }, index) => ({
    tool_call_id: `call_own${round}x${index}`,
    provider_call_id: id,
    name,
    arguments: JSON.parse(input) as Json,
  }));
  const { text, maker, provider_parts } = reply;
  const said = { role: "assistant", text, ...(calls.length > 0 ? { calls } : {}), maker, provider_parts };
  const recorded = JSON.parse(JSON.stringify(said)) as Message;
  const results = calls.map(({ tool_call_id }) => result(tool_call_id));
  return calls.length > 0 ? [recorded, ...results] : [recorded, { role: "user", text: "And now?" }];
}

export function result(tool_call_id: string, text = "ok"): Message {
  return { role: "tool", tool_call_id, name: "read", text, result: { ok: true } as ToolCallResult };
}

export function sentMessages(asked: ReceivedRequest | undefined): readonly Json[] {
  return (asked?.body["messages"] ?? []) as readonly Json[];
}
