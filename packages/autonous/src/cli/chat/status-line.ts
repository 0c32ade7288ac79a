import { makeVisible } from "@autonous/runtime/internal";
import { cutTo, widthOf } from "../../channels/words/width.ts";
import type { TaskOutcome } from "../session/agent-session.ts";
import { costText } from "../usage.ts";

type Used = Pick<TaskOutcome, "context" | "isEstimated"> & {
  readonly usage: Pick<TaskOutcome["usage"], "input_tokens" | "output_tokens" | "cost">;
  /** In the syntax of `AUTONOUS_MODEL`. */
  readonly model: string;
  readonly profile: string;
};

/** Used if the terminal does not report its width. */
const WIDTH = 80;
const GAP = " | ";

/** `claude-x | guarded | 12.3k in, 678 out | cost 0.0123 | context 12%`: always one line, however long the model name. */
export function statusLine({ model, profile, usage, context, isEstimated }: Used, width = WIDTH): string {
  const { input_tokens, output_tokens, cost } = usage;
  const about = isEstimated ? "about " : "";
  const rest = [
    profile,
    `${about}${short(input_tokens)} in, ${short(output_tokens)} out`,
    ...(input_tokens + output_tokens === 0 ? [] : [`cost ${costText(cost)}`]),
    ...(context === undefined ? [] : [`context ${percent(context)}`]),
  ].join(GAP);
  const room = Math.max(1, Math.min(width, WIDTH) - widthOf(rest) - GAP.length);
  return cutTo(`${cutTo(makeVisible(nameOf(model)), room)}${GAP}${rest}`, Math.min(width, WIDTH));
}

/** Without provider and server. */
function nameOf(model: string): string {
  const bare = model.replace(/^[a-z-]+:/, "").replace(/@https?:\/\/[^@]*$/, "");
  return model.startsWith("script:") ? `script:${bare.slice(bare.lastIndexOf("/") + 1)}` : bare;
}

/** `678`, `12.3k`, `1.2M`. */
function short(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 999_950 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}

function percent({ tokens, limit }: NonNullable<TaskOutcome["context"]>): string {
  if (limit <= 0) return "full";
  const share = (tokens / limit) * 100;
  return share > 0 && share < 1 ? "under 1%" : `${Math.round(share)}%`;
}
