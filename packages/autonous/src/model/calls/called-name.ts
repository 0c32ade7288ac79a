/** A tool as far as its names go. */
export interface NamedTool {
  readonly name: string;
  readonly aliases?: readonly string[];
}

export interface CalledName {
  readonly name: string;
  /** What was removed or changed; undefined where the model wrote the name as it is. */
  readonly repaired?: string;
}

/** Models put these before the name: the namespace that their training knows tools by. */
const NAMESPACE =
  /^(?:functions?|default_api|tools?|multi_tool_use|tool_calls?|repo_browser|container)(?:\.|::?|\/|__)/i;
/** Kimi numbers its calls (`functions.read:0`), others write the name as a call (`read()`). */
const ENDING = /(?::\d{1,6}|\(\))$/;
/** The start of a marker of the model's own format, such as `<|channel|>commentary`. */
const MARKER = /<[|｜]|<\/|\s(?=<)/;
const QUOTES = /^(["'`])(.+)\1$/;
const LONGEST = 400;

/**
 * The tool that a call means. A name that is offered stays as it is. Otherwise markers, known namespaces, letter case and
 * separators are ignored, where exactly one offered name is left; what remains unknown is without its namespace, so that
 * the answer can suggest names that are like it.
 */
export function meantTool(written: string, tools: readonly NamedTool[]): CalledName {
  if (written.length > LONGEST || written === "") return { name: written };
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
  // Some write two of them: `functions.default_api.read`.
  for (let times = 0; times < 2; times++) name = name.replace(NAMESPACE, "");
  return name.replace(ENDING, "").trim();
}

/** `ApplyPatch`, `apply-patch` and `apply_patch` are one name. */
function loosely(name: string): string {
  return name.toLowerCase().replaceAll(/[\s._\-/:]/g, "");
}
