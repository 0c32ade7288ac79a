import type { CallOptions } from "@autonous/runtime";
import type { Run } from "./agent-run.ts";

/** Who asks for the calls of a run: a model, for whoever gave it the task. */
export function whoAsks({
  options: { task },
  provider,
}: Run): Pick<CallOptions, "user" | "chat" | "channel"> & { readonly model: string } {
  const { chat, user, channel } = task;
  return {
    ...(chat === undefined ? {} : { chat }),
    ...(user === undefined ? {} : { user }),
    ...(channel === undefined ? {} : { channel }),
    model: provider.name,
  };
}
