/** The service as a bot, with a model that follows a script, for tests of what a person with a phone does. */
import { startFakeModel } from "../../emulators/fake-model/server.ts";
import type { FakeModel, FakeModelOptions } from "../../emulators/fake-model/server.ts";
import type { FakeTelegram } from "../../emulators/fake-telegram/server.ts";
import { scratchPlace } from "./service.ts";
import type { Place, Served } from "./service.ts";
import { openTelegram, startBot } from "./telegram.ts";

type Responder = Exclude<NonNullable<FakeModelOptions["script"]>, { rounds: unknown }>;
type Round = NonNullable<Awaited<ReturnType<Responder>>>;

export interface Phone {
  readonly place: Place;
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  readonly service: Served;
}

/** By the beginning of what was said: what the model does, round by round. Whatever else is said is echoed. */
type Script = Readonly<Record<string, readonly Round[]>>;

export async function startPhone(
  onEnd: (close: () => Promise<void> | void) => void,
  script: Script = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<Phone> {
  const place = scratchPlace(onEnd);
  const respond: Responder = ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === "user");
    const said = messages[last]?.text ?? "";
    const round = messages.slice(last + 1).filter(({ role }) => role === "assistant").length;
    const rounds = Object.entries(script).find(([start]) => said.startsWith(start))?.[1] ?? [];
    return rounds[Math.min(round, rounds.length - 1)] ?? { text: `You said: ${said}` };
  };
  const model = await startFakeModel({ key: null, script: respond });
  onEnd(() => model.close());
  const telegram = await openTelegram(place);
  const settings = {
    AUTONOUS_MODEL: "anthropic:claude-x",
    ANTHROPIC_API_KEY: "sk-test",
    ANTHROPIC_BASE_URL: `${model.url}/v1`,
    ...environment,
  };
  const service = await startBot(place, telegram, settings);
  return { place, telegram, model, service };
}

export const toolCall = (name: string, args: object): Round => ({
  calls: [{ name, arguments: args as Record<string, unknown> }],
});

/** The last thing that was said to the model, as it got it. */
export function lastAsked({ model }: Phone): string {
  return JSON.stringify((model.requests.at(-1)?.body as { messages?: unknown } | undefined)?.messages ?? []);
}
