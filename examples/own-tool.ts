/** Your own tool, which runs only if your own handler permits it. */
import { createRuntime, defineTool } from "autonous";
import { z } from "zod";

const deploy = defineTool({
  name: "deploy",
  version: "1.0.0",
  description: "Deploy the workspace",
  args: z.strictObject({ env: z.enum(["staging", "prod"]) }),
  returns: z.strictObject({ env: z.string(), release: z.int() }),
  required_permissions: ["net.connect"],
  side_effects: ["network"],
  risk: "medium",
  requires_checkpoint: true,

  async execute({ env }) {
    const release = 7; // here your own code would deploy
    return { data: { env, release }, stdout: `release ${release} is on ${env}\n` };
  },
});

const runtime = await createRuntime({
  roots: [process.cwd()],
  config: { rules: [{ effect: "allow", tool: "deploy" }] },
  onCheckpoint: ({ args }) =>
    args["env"] === "staging" ? { answer: "grant", by: "release desk" } : { answer: "deny", reason: "prod is frozen" },
});
runtime.register(deploy);
for (const env of ["staging", "prod", "moon"]) {
  const { ok, payload, error } = await runtime.call({ name: "deploy", args: { env } });
  console.log(env, ok ? payload?.stdout.trimEnd() : `${error?.code}: ${error?.message}`);
}
await runtime.close();
