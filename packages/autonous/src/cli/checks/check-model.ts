import { existsSync } from "node:fs";
import { measureRequest } from "../../agent/window/request.ts";
import type { Configuration } from "../../config/load.ts";
import { SETTINGS } from "../../config/settings.ts";
import type { SettingName } from "../../config/settings.ts";
import type { BreakerState } from "../../model/failures/circuit-breaker.ts";
import { OLLAMA_HINT } from "../../model/vendors/cut-prompt.ts";
import { priceSource, sourceText } from "../../model/prices/prices.ts";
import type { ModelProvider } from "../../model/provider.ts";
import { vendorsOfName } from "../../model/vendors/vendors.ts";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { isStateFolderLocked } from "../../store/sqlite/state-lock.ts";
import { readBreakers } from "../../telemetry/breakers.ts";
import { providerOf, settingsOf } from "../../workplace/model-requests.ts";
import { readProject } from "../../workplace/project-context.ts";
import { inspectRuntime, runtimeOptions } from "../../workplace/runtime-options.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import type { CheckResult } from "./checks.ts";

/** The model, its settings and its price. */
export async function checkModel({ configuration, state_dir }: Workplace): Promise<CheckResult> {
  try {
    const provider = await providerOf(configuration);
    const all = [provider, ...(provider.fallbacks ?? [])];
    const models = all.map((each) => aboutModel(configuration, each).join("; "));
    const isCut = all.some((each) => windowHint(each).length > 0);
    const breakers = await breakersOfService(state_dir);
    const isOpen = breakers?.some(({ state }) => state !== "closed") === true;
    const circuits =
      breakers?.length === 0 ? ["no circuit breaker of the service is open"] : (breakers ?? []).map(inState);
    return {
      check: "model",
      outcome: isOpen || isCut ? "warning" : "ok",
      message: [models.join("; fallback: "), ...circuits].join("; "),
    };
  } catch (error) {
    return { check: "model", outcome: "failed", message: (error as Error).message };
  }
}

/** The fixed part of every request, and so the minimum cost of every turn. */
export async function checkFirstRequest(place: Workplace): Promise<CheckResult> {
  const check = "first request";
  try {
    const provider = await providerOf(place.configuration);
    if (provider.wants_all_tools === true) return { check, outcome: "ok", message: "none: no model is used" };
    const project = await readProject(place);
    const { bytes, tokens, tools, deferred } = await inspectRuntime(runtimeOptions(place), (runtime) =>
      measureRequest({ provider, runtime, project }),
    );
    const more = deferred > 0 ? `, ${deferred} more by tool_search` : "";
    return {
      check,
      outcome: "ok",
      message: `about ${tokens} tokens (${bytes} bytes) before the task: ${tools} tools${more}`,
    };
  } catch (error) {
    return { check, outcome: "warning", message: `cannot be measured: ${(error as Error).message}` };
  }
}

function aboutModel(configuration: Configuration, provider: ModelProvider): readonly string[] {
  const { name, wants_all_tools } = provider;
  const price = wants_all_tools === true ? [] : [sourceText(priceSource(name, configuration.prices))];
  return [name, ...price, ...askedWith(configuration, provider), ...windowHint(provider)];
}

/** For servers with a small default context window whose size the user has not set. */
function windowHint({ name, context_tokens }: ModelProvider): readonly string[] {
  return context_tokens === undefined && vendorsOfName(name).server === "ollama" ? [OLLAMA_HINT] : [];
}

/** The model settings that the user has set. */
function askedWith(configuration: Configuration, { name, wants_all_tools }: ModelProvider): readonly string[] {
  if (wants_all_tools === true) return [];
  const set = Object.entries(settingsOf(configuration, name)).filter(
    ([setting, value]) => SETTINGS[setting as SettingName].default !== value,
  );
  return set.map(([setting, value]) => `${setting} ${value}`);
}

/** The breakers of the running worker that opened at least once. Undefined if no service runs. */
async function breakersOfService(state_dir: string): Promise<readonly BreakerState[] | undefined> {
  const file = databaseFile(state_dir);
  if (!existsSync(file) || !isStateFolderLocked(state_dir)) return undefined;
  const store = await openStore({ file, clock: Date.now });
  try {
    return await readBreakers(store.kv);
  } finally {
    await store.close();
  }
}

function inState({ provider, state, failures_in_a_row, retry_at }: BreakerState): string {
  const until = retry_at === undefined ? "" : ` until ${new Date(retry_at).toISOString()}`;
  const why = state === "closed" ? "" : ` after ${failures_in_a_row} failures in a row`;
  return `circuit to ${provider} ${state.replace("_", "-")}${why}${state === "open" ? until : ""}`;
}
