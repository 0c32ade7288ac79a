import type { CallOptions } from "@autonous/runtime";
import type { Run } from "./agent-run.ts";

/** The caller of a run's calls: the model, on behalf of the task's user. */
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
