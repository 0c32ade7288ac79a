import { READ_ONLY } from "./read-only.ts";
import { z } from "zod";
import type { OfferedTool } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";

const MAX_FOUND = 20;
const DEFAULT_FOUND = 5;

const args = () =>
  z.strictObject({
    query: z.string().min(1).max(500).describe("What the tool should do, in a few words; or its name"),
    limit: z.int().min(1).max(MAX_FOUND).optional().describe(`Maximum number of tools (default ${DEFAULT_FOUND})`),
  });

const returns = () =>
  z.strictObject({
    tools: z.array(
      z.strictObject({ name: z.string(), description: z.string(), args_schema: z.record(z.string(), z.unknown()) }),
    ),
  });

/** A host that sends only some of the tools to its model also offers this one. */
export const toolSearch = defineTool({
  name: "tool_search",
  version: "1.0.0",
  description: "Find tools that are not listed here, by what they do. Found tools can then be called.",
  args,
  returns,
  required_permissions: [],
  ...READ_ONLY,
  search_hint: "find search more other tools schema",

  async execute(given, { tools }) {
    const all = tools();
    const found = findTools(given, all);
    const names = all.map(({ name }) => name).join(", ");
    return {
      data: {
        tools: found.map(({ name, description, args_schema }) => ({ name, description, args_schema })),
      },
      stdout: found.map(toLine).join(""),
      stderr: found.length === 0 ? `No tool matches. Available: ${names}\n` : "",
    };
  },
});

/** The tools that a search found, by the arguments of its call: the result is always the same. */
export function toolsFoundBy(
  call: { readonly name: string; readonly arguments: unknown },
  tools: readonly OfferedTool[],
): readonly string[] {
  if (call.name !== toolSearch.name) return [];
  const given = toolSearch.args.safeParse(call.arguments);
  return given.success ? findTools(given.data as SearchArgs, tools).map(({ name }) => name) : [];
}

/** The tool that finds others among those in force. */
export function isToolSearch({ name }: { readonly name: string }): boolean {
  return name === toolSearch.name;
}

type SearchArgs = z.output<ReturnType<typeof args>>;

/** Best match first; tools that match nothing of the query are omitted. */
function findTools(
  { query, limit = DEFAULT_FOUND }: SearchArgs,
  tools: readonly OfferedTool[],
): readonly OfferedTool[] {
  const wanted = new Set(wordsOf(query));
  return tools
    .filter((tool) => !isToolSearch(tool))
    .map((tool) => ({ tool, score: scoreOf(tool, wanted, query) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ tool }) => tool);
}

/** The weight of a word, by the field it occurs in. */
// oxfmt-ignore
const WEIGHTS = { whole_name: 100, name: 10, hint: 5, description: 2 } as const;

function scoreOf({ name, description, search_hint }: OfferedTool, wanted: ReadonlySet<string>, query: string): number {
  const isNamed = query
    .toLowerCase()
    .split(/[^a-z0-9_-]+/)
    .includes(name.toLowerCase());
  return (
    (isNamed ? WEIGHTS.whole_name : 0) +
    countIn(name, wanted) * WEIGHTS.name +
    countIn(search_hint ?? "", wanted) * WEIGHTS.hint +
    countIn(description, wanted) * WEIGHTS.description
  );
}

function countIn(text: string, wanted: ReadonlySet<string>): number {
  return new Set(wordsOf(text).filter((word) => wanted.has(word))).size;
}

/** Too common to distinguish tools. */
const COMMON: ReadonlySet<string> = new Set(
  "a an and for from in is it of on or that the this to tool tools with".split(" "),
);

/** Words without their endings, so that "processes" finds "process". */
function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !COMMON.has(word)).map((word) => word.replace(/(?<=.{3})(?:ing|es|s|e)$/, ""));
}

function toLine({ name, description, args_schema }: OfferedTool): string {
  const { $schema: _, ...schema } = args_schema;
  return `${name}: ${description}\n${JSON.stringify(schema)}\n`;
}
