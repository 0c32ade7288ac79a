/** The names of a tool. */
export interface NamedTool {
  readonly name: string;
  readonly aliases?: readonly string[];
}

export interface CalledName {
  readonly name: string;
  /** What was removed or changed; undefined if the model wrote the exact name. */
  readonly repaired?: string;
}

/** Namespaces that models put before the name, known from their training. */
const NAMESPACE =
  /^(?:functions?|default_api|tools?|multi_tool_use|tool_calls?|repo_browser|container)(?:\.|::?|\/|__)/i;
/** Kimi numbers its calls (`functions.read:0`), others write the name as a call (`read()`). */
const ENDING = /(?::\d{1,6}|\(\))$/;
/** The start of a marker of the model's own format, such as `<|channel|>commentary`. */
const MARKER = /<[|｜]|<\/|\s(?=<)/;
const QUOTES = /^(["'`])(.+)\1$/;
const MAX_LENGTH = 400;

/**
 * Finds the tool that a call means. An offered name is used unchanged. Otherwise markers, known namespaces, letter case
 * and separators are ignored if exactly one offered name matches. An unknown name is returned without its namespace, so
 * that the answer can suggest similar names.
 */
export function resolveToolName(written: string, tools: readonly NamedTool[]): CalledName {
  if (written.length > MAX_LENGTH || written === "") return { name: written };
  const offered = tools.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  if (offered.includes(written)) return { name: written };
  const bare = bareName(written);
  if (bare === "") return { name: written };
  if (offered.includes(bare)) return { name: bare, repaired: "tool name" };
  const same = offered.filter((each) => loosely(each) === loosely(bare));
  const [only] = same;
  if (only !== undefined && same.length === 1) return { name: only, repaired: "tool name" };
  return bare === written ? { name: written } : { name: bare, repaired: "tool name" };
}

function bareName(written: string): string {
  let name = (written.split(MARKER, 1)[0] ?? "").trim();
  name = (QUOTES.exec(name)?.[2] ?? name).trim();
  // Some models write two namespaces: `functions.default_api.read`.
  for (let times = 0; times < 2; times++) name = name.replace(NAMESPACE, "");
  return name.replace(ENDING, "").trim();
}

/** `ApplyPatch`, `apply-patch` and `apply_patch` are one name. */
function loosely(name: string): string {
  return name.toLowerCase().replaceAll(/[\s._\-/:]/g, "");
}
