import { createRedactStream, secretsOf } from "@autonous/runtime";
import type { LiveView } from "../../channels/terminal/live-view.ts";
import type { ModelDelta } from "../../model/provider.ts";

/** A model that says nothing for this long has its last word shown. */
const PAUSE_MS = 200;

export interface Preview {
  push(delta: ModelDelta): void;
  /** The round is over. */
  end(): void;
}

/** What a model says, as it comes, past the redactor. A stream a round: a secret may be cut by the border of two pieces. */
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
  /** Shows what is still held of the reasoning, which no record brings later. */
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
    // What is still held of the answer comes with the record of the round.
    end() {
      endReasoning();
      for (const stream of open.values()) stream.removeAllListeners("data").destroy();
      open.clear();
      hasAnswerBegun = false;
    },
  };
}
