import { makeVisible } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";

const MAX_NAMED = 12;

/** What an activated skill still allows, as text for people. */
export function skillWords({ tools, commands }: RuntimeEvent["payload"]): string {
  if (!Array.isArray(tools)) return "it restricts no tools";
  const only = Array.isArray(commands)
    ? ` (bash: only ${listed(commands.map((words) => [words].flat().join(" ").trimEnd()))})`
    : "";
  return `only these tools from now on: ${listed(tools)}${only}`;
}

function listed(names: readonly unknown[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(0, MAX_NAMED).map((name) => makeVisible(String(name)));
  return `${shown.join(", ")}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ""}`;
}
