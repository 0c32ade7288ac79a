import type { CheckResult } from "./checks.ts";
import { readModules } from "../session/open-runtime.ts";
import type { Workplace } from "../session/open-runtime.ts";

/** What the modules provide, and which of them are not in force. */
export async function checkModules(place: Workplace): Promise<CheckResult> {
  const check = "modules";
  const { loaded, refused, broken } = await readModules(place);
  // Only a warning: the service starts without their tools.
  const missing = [...broken, ...refused];
  if (missing.length > 0) return { check, outcome: "warning", message: missing.join("; ") };
  if (loaded.length === 0) return { check, outcome: "ok", message: "none configured" };
  const given = loaded.map(({ path, tools, handlers }) => `${path} (${[...tools, ...handlers].join(", ")})`);
  return { check, outcome: "ok", message: given.join("; ") };
}
