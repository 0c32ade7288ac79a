import type { WrittenCall } from "../../model/written/call-values.ts";
import type { Run } from "../agent-run.ts";

/** What tools put before the lines of a file: its name and numbers, marks of a diff or a quotation. */
const LINE_PREFIX = /^(?:[^\s:]{1,300}[:-]\d{1,9}[:-]|\s{0,10}\d{1,9}[\t:|→│ ]|> |[-+])/gm;
/** What calls in JSON name their arguments by. */
const BEFORE_ARGUMENTS = /(?:arguments?|parameters?|params|input|args):$/;
/** How far from its arguments the name of a call stands, at most, beside the name itself. */
const NAME_DISTANCE = 200;

/**
 * Whether markup, or the calls in it, stand in what the model was given: results, what users said, notes of the
 * workspace, descriptions of tools. A model that shows what it has read does not call a tool by that, whatever the text
 * says. How a text is spaced, escaped, quoted, commented out or spread over two results makes no difference.
 * Looks through the conversation once, when it is first asked. Linear in the conversation for each question.
 */
export function quotationCheck(run: Run): (markup: string, calls: readonly WrittenCall[]) => boolean {
  let given: readonly string[] | undefined;
  return (markup, calls) => {
    given ??= givenTexts(run).flatMap((text) => [...new Set([bare(text), bare(text.replaceAll(LINE_PREFIX, ""))])]);
    const texts = given;
    if (isWithin(texts, run.redact(markup))) return true;
    return calls.length > 0 && calls.every((call) => texts.some((text) => hasCall(text, inBare(run, call))));
  };
}

function givenTexts({ messages, project, window, options }: Run): readonly string[] {
  const said = messages.flatMap((message) => (message.role === "assistant" ? [] : [message.text]));
  const tools = options.runtime.tools().map(({ description, args_schema }) => [description, args_schema]);
  return [...said, window.summary ?? "", JSON.stringify(project), JSON.stringify(tools)];
}

/** In one text, or its first lines in one and the others in another, as where a file was read in two parts. */
function isWithin(given: readonly string[], markup: string): boolean {
  const has = (text: string): boolean => given.some((each) => each.includes(text));
  const wanted = bare(markup);
  if (has(wanted)) return true;
  const lines = markup.split("\n").map(bare);
  // The more lines, the fewer texts have them: the longest beginning that stands somewhere is found by halving.
  let [found, missing] = [0, lines.length];
  while (missing - found > 1) {
    const middle = (found + missing) >> 1;
    if (has(lines.slice(0, middle).join(""))) found = middle;
    else missing = middle;
  }
  const rest = lines.slice(found).join("");
  return found > 0 && lines.slice(0, found).join("") !== "" && has(rest);
}

interface BareCall {
  readonly name: string;
  readonly args: string;
}

function inBare(run: Run, { name, input }: WrittenCall): BareCall {
  return { name: bare(run.redact(name)), args: bare(run.redact(input)) };
}

/** Whether a text has the call as JSON, its members in whatever order. */
function hasCall(text: string, { name, args }: BareCall): boolean {
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

/** Letters, digits, and what tells a call from prose. No escapes, white space, quotes, or marks of comments. */
function bare(text: string): string {
  return withoutEscapes(withoutEscapes(text)) // pages escape what is escaped already
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
