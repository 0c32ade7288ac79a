import { createRedactStream, secretsOf } from "@autonous/runtime/internal";
import type { LiveView } from "../../channels/terminal/live-view.ts";
import type { ModelDelta } from "../../model/provider.ts";

/** After a pause of this length the last word is shown too. */
const PAUSE_MS = 200;

export interface Preview {
  push(delta: ModelDelta): void;
  /** The round is over. */
  end(): void;
}

/** Shows a streamed reply, redacted. One stream per round, because a secret may span two chunks. */
export function createPreview(view: Pick<LiveView, "delta">): Preview {
  const known = secretsOf(process.env);
  const open = new Map<ModelDelta["kind"], ReturnType<typeof createRedactStream>>();
  let hasAnswerBegun = false;
  function streamOf(kind: ModelDelta["kind"]): ReturnType<typeof createRedactStream> {
    const stream = open.get(kind) ?? createRedactStream({ known, pause_ms: PAUSE_MS });
    if (!open.has(kind)) stream.on("data", (piece: Buffer) => view.delta({ kind, text: piece.toString() }));
    open.set(kind, stream);
    return stream;
  }
  /** Flushes buffered reasoning, which no event contains later. */
  function endReasoning(): void {
    open.get("reasoning")?.end();
    open.delete("reasoning");
  }
  return {
    push({ kind, text }) {
      if (kind === "text") endReasoning();
      else if (hasAnswerBegun) return;
      hasAnswerBegun ||= kind === "text";
      streamOf(kind).write(text);
    },
    // The buffered rest of the answer comes with the event of the round.
    end() {
      endReasoning();
      for (const stream of open.values()) stream.removeAllListeners("data").destroy();
      open.clear();
      hasAnswerBegun = false;
    },
  };
}
