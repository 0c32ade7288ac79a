import type { WrittenCall } from "../../model/written/call-values.ts";
import type { Run } from "../agent-run.ts";

/** Prefixes of file lines in tool output: name and number, diff marks, quotation marks. */
const LINE_PREFIX = /^(?:[^\s:]{1,300}[:-]\d{1,9}[:-]|\s{0,10}\d{1,9}[\t:|→│ ]|> |[-+])/gm;
/** Member names of arguments in JSON calls. */
const BEFORE_ARGUMENTS = /(?:arguments?|parameters?|params|input|args):$/;
/** Maximum distance between the name of a call and its arguments, plus the name's own length. */
const NAME_DISTANCE = 200;

/**
 * Whether the markup, or the calls in it, appear in the model's input: results, user messages, workspace notes, tool
 * descriptions. A model that shows what it has read does not call a tool by that. Spacing, escapes, quotes, comment
 * marks and a split over two results are ignored. Normalizes the conversation once, on first use; each check is linear
 * in it.
 */
export function quotationCheck(run: Run): (markup: string, calls: readonly WrittenCall[]) => boolean {
  let given: readonly string[] | undefined;
  return (markup, calls) => {
    given ??= inputTexts(run).flatMap((text) => [...new Set([bare(text), bare(text.replaceAll(LINE_PREFIX, ""))])]);
    const texts = given;
    if (isWithin(texts, run.redact(markup))) return true;
    return calls.length > 0 && calls.every((call) => texts.some((text) => hasCall(text, normalizeCall(run, call))));
  };
}

function inputTexts({ messages, project, window, options }: Run): readonly string[] {
  const said = messages.flatMap((message) => (message.role === "assistant" ? [] : [message.text]));
  const tools = options.runtime.tools().map(({ description, args_schema }) => [description, args_schema]);
  return [...said, window.summary ?? "", JSON.stringify(project), JSON.stringify(tools)];
}

/** In one text; or its first lines in one and the rest in another, as with a file that was read in two parts. */
function isWithin(given: readonly string[], markup: string): boolean {
  const has = (text: string): boolean => given.some((each) => each.includes(text));
  const wanted = bare(markup);
  if (has(wanted)) return true;
  const lines = markup.split("\n").map(bare);
  // More lines occur in fewer texts, so the longest known beginning is found by bisection.
  let [found, missing] = [0, lines.length];
  while (missing - found > 1) {
    const middle = (found + missing) >> 1;
    if (has(lines.slice(0, middle).join(""))) found = middle;
    else missing = middle;
  }
  const rest = lines.slice(found).join("");
  return found > 0 && lines.slice(0, found).join("") !== "" && has(rest);
}

interface NormalizedCall {
  readonly name: string;
  readonly args: string;
}

function normalizeCall(run: Run, { name, input }: WrittenCall): NormalizedCall {
  return { name: bare(run.redact(name)), args: bare(run.redact(input)) };
}

/** Whether a text contains the call as JSON, with its members in any order. */
function hasCall(text: string, { name, args }: NormalizedCall): boolean {
  if (args === "") return false;
  for (let at = text.indexOf(args); at !== -1; at = text.indexOf(args, at + args.length)) {
    if (!BEFORE_ARGUMENTS.test(text.slice(Math.max(0, at - 20), at))) continue;
    const reach = name.length + NAME_DISTANCE;
    const around = [text.slice(Math.max(0, at - reach), at), text.slice(at + args.length, at + args.length + reach)];
    if (around.some((part) => part.includes(`:${name}`))) return true;
  }
  return false;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["amp", "&"],
  ["nbsp", " "],
]);
const ESCAPE = /(?:\\+u|&#x)([0-9a-f]{4}|[0-9a-f]{1,6};)|&(?:#(\d{1,7})|(lt|gt|quot|apos|amp|nbsp));/gi;

/** Keeps letters, digits and the punctuation of calls. Drops escapes, white space, quotes and comment marks. */
function bare(text: string): string {
  return withoutEscapes(withoutEscapes(text)) // web pages may escape text twice
    .replaceAll(/\\[nrt]/g, "")
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}()[\]{}=:]+/gu, "");
}

function withoutEscapes(text: string): string {
  return text.replaceAll(ESCAPE, (whole: string, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return ENTITIES.get(name.toLowerCase()) ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}
