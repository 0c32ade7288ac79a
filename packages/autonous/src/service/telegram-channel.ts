import type { Runtime } from "@autonous/runtime";
import type { TelegramOptions } from "../channels/telegram/channel.ts";
import { readHours } from "../config/hours.ts";
import { loadConfiguration } from "../config/load.ts";
import { toolMemory } from "../store/tool-memory.ts";
import { inspectRuntime, runtimeOptions } from "../workplace/runtime-options.ts";
import { resolveWorkplace } from "../workplace/workplace.ts";
import type { OpenChannel } from "./channels.ts";
import { CannotServe } from "./context.ts";
import type { ServiceContext } from "./context.ts";

const MEGABYTE = 1_000_000;

/** Telegram, if a token is set. */
export async function openTelegramChannel(context: ServiceContext): Promise<OpenChannel | undefined> {
  const { settings, store, notifier, outputs, onTask, redact, state_dir, logger } = context;
  const { telegram_token: token, telegram_api_root: api_root, telegram_allowed_users: allowed_users = [] } = settings;
  if (token === undefined) return undefined;
  const { BadToken, openTelegram } = await import("../channels/telegram/channel.ts");
  try {
    return await openTelegram({
      token,
      api_root,
      allowed_users,
      groups: settings.telegram_groups,
      ...quietHours(settings.telegram_quiet_hours),
      pending_window_seconds: settings.tg_pending_window_seconds,
      pending_max_messages: settings.tg_pending_max_messages,
      files: {
        max_files: settings.telegram_max_files,
        max_file_bytes: settings.telegram_max_file_megabytes * MEGABYTE,
      },
      state_dir,
      store,
      notifier,
      outputs,
      onTask,
      redact,
      listTools: () => listTools(context),
      readChanges: (work) => inspectTaskRuntime(context, ({ changes }) => work(changes)),
      isDirect: settings.model === "direct",
      log: logger.part("telegram").warn,
    });
  } catch (error) {
    throw error instanceof BadToken ? new CannotServe(error.message) : error;
  }
}

function quietHours(text: string | undefined): Pick<TelegramOptions, "quiet_hours"> {
  const quiet_hours = text === undefined ? undefined : readHours(text);
  return quiet_hours === undefined ? {} : { quiet_hours };
}

/** The tools that a task would be offered now. */
async function listTools(context: ServiceContext): Promise<readonly string[]> {
  const own = await inspectTaskRuntime(context, (runtime) => runtime.tools());
  return [...own, ...context.moduleTools.list()].map(
    ({ name, description }) => `${name}: ${firstSentence(description)}`,
  );
}

/** A runtime configured as for a task, which changes and records nothing. */
async function inspectTaskRuntime<Result>(
  { roots, state_dir, environment, store }: ServiceContext,
  inspect: (runtime: Runtime) => Promise<Result> | Result,
): Promise<Result> {
  const place = resolveWorkplace({ own: loadConfiguration(environment), opened: roots, state_dir, environment });
  const options = { ...runtimeOptions(place), memory: toolMemory((work) => work(store.memory)) };
  return await inspectRuntime(options, inspect);
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}
