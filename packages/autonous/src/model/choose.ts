import { ToolError } from "@autonous/runtime";
import { createDirectProvider } from "./direct.ts";
import type { ModelProvider } from "./provider.ts";
import { loadScriptProvider } from "./script.ts";

/** What `AUTONOUS_MODEL` may say. */
const SERVED = [
  { form: "direct", matches: (setting: string) => setting === "direct", create: () => createDirectProvider() },
  {
    form: "script:<file>",
    matches: (setting: string) => /^script:./s.test(setting),
    create: (setting: string) => loadScriptProvider(setting.slice("script:".length)),
  },
] as const;

/** The provider that a setting names. Throws `InvalidArguments` on a setting, or a script, that cannot be used. */
export async function createProvider(setting: string): Promise<ModelProvider> {
  const row = SERVED.find(({ matches }) => matches(setting));
  if (row !== undefined) return await row.create(setting);
  const forms = SERVED.map(({ form }) => form).join(", ");
  throw new ToolError("InvalidArguments", `Cannot use the model "${setting}": AUTONOUS_MODEL is one of ${forms}`, {
    setting,
  });
}
