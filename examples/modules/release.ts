/** Your own tools and handlers, for the command line and the service. List this file under "modules" in your configuration. */
import { defineTool } from "autonous";
import type { OnCheckpoint, OnReverseThinking } from "autonous";
import { z } from "zod";

export const tools = [
  defineTool({
    name: "release",
    version: "1.0.0",
    description: "Release the workspace",
    args: z.strictObject({ env: z.enum(["staging", "prod"]) }),
    returns: z.strictObject({ env: z.string(), release: z.int() }),
    required_permissions: [],
    side_effects: ["none"],
    risk: "low",
    permission_class: "readonly",
    requires_checkpoint: true,
    requires_reverse_thinking: true,

    async execute({ env }) {
      const release = 7; // here your own code would release
      return { data: { env, release }, stdout: `release ${release} is on ${env}\n` };
    },
  }),
];

/** Decides on calls of tools that declare `requires_checkpoint`. */
export const onCheckpoint: OnCheckpoint = ({ args }) =>
  args["env"] === "staging" ? { answer: "grant", by: "release desk" } : { answer: "deny", reason: "prod is frozen" };

/** Challenges calls of tools that declare `requires_reverse_thinking`, in place of the model. */
export const onReverseThinking: OnReverseThinking = () => ({
  hidden_assumptions: ["the tests have passed"],
  failure_scenarios: ["a release that cannot be rolled back"],
  verdict: "proceed",
  verdict_reason: "staging can be rolled back",
});
