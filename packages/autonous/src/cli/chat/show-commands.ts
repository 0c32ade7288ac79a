import { priceSource, sourceText } from "../../model/prices/prices.ts";
import { providerOf } from "../session/asking.ts";
import { toolTable } from "../commands/tools.ts";
import { table } from "../output/table.ts";
import { costText } from "../usage.ts";
import { totalUse } from "./chat-record.ts";
import type { ModelUse } from "./chat-record.ts";
import { recordOf } from "./conversation.ts";
import type { Chat } from "./conversation.ts";

export async function changeModel(chat: Chat, name: string): Promise<void> {
  const { session, print, place } = chat;
  if (name !== "") {
    session.provider = await providerOf(place.configuration, name);
  }
  const { name: model, fallbacks = [] } = session.provider;
  const others = fallbacks.map((each) => each.name);
  if (print.json) return print.document({ ok: true, model, ...(others.length === 0 ? {} : { fallbacks: others }) });
  print.note(`${model} answers${others.length === 0 ? "" : `; fallback: ${others.join(", ")}`}`);
}

export async function showTools({ session, print }: Chat): Promise<void> {
  const offered = session.runtime.tools();
  if (print.json) return print.document({ tools: offered });
  print.note(toolTable(offered, print.noteWidth));
}

export async function showCost(chat: Chat): Promise<void> {
  const { print, session, place } = chat;
  const { models, messages } = await recordOf(chat);
  const total = totalUse(models);
  const { prices } = place.configuration;
  if (print.json) {
    const priced = models.map((use) => ({ ...use, price: priceSource(use.model, prices) ?? null }));
    return print.document({ run_id: session.runtime.run_id, messages, ...total, models: priced });
  }
  if (models.length === 0) return print.note("No model was asked in this chat yet");
  const rows = models.map(rowOf);
  const all = models.length > 1 ? [rowOf({ model: "all", ...total })] : [];
  const head = ["COST", "TOKENS IN", "FROM CACHE", "OUT", "MODEL"];
  print.note(table([head, ...rows, ...all], { width: print.noteWidth }));
  for (const { model } of models) print.note(`${model}: ${sourceText(priceSource(model, prices))}`);
}

function rowOf({ model, input_tokens, cached_input_tokens, output_tokens, cost, estimated }: ModelUse): string[] {
  const about = estimated ? "about " : "";
  return [costText(cost), `${about}${input_tokens}`, String(cached_input_tokens), `${about}${output_tokens}`, model];
}

export async function showGrants({ session, print }: Chat): Promise<void> {
  const { run_id, approvals } = session.runtime;
  const grants = await approvals.grants({ run_id, session: run_id });
  if (print.json) return print.document({ grants });
  if (grants.length === 0) return print.note("Nothing was allowed beyond a single call");
  print.note(grants.map(({ grant_id, words }) => `${grant_id}  ${words}`).join("\n"));
  print.note("Revoke one: autonous approvals revoke <grant>");
}
