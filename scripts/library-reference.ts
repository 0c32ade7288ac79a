/** `docs/library.md`: every public name of `@autonous/runtime` and of `autonous`, with its comment, its signature and its members. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";

/** The part of the syntax tree that is used here: ESTree with TypeScript. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Declared {
  readonly name: string;
  readonly kind: "function" | "value" | "class" | "type";
  readonly about: string;
  readonly signature: string;
  readonly members: readonly Member[];
}

interface Member {
  readonly name: string;
  readonly type: string;
  readonly about: string;
}

class Source {
  readonly text: string;
  readonly body: readonly Node[];

  constructor(path: string) {
    this.text = readFileSync(path, "utf8");
    this.body = (parseAst(this.text, { lang: "ts" }, path) as unknown as { readonly body: readonly Node[] }).body;
  }

  /** As one line, without comments. */
  of({ start, end }: Node): string {
    const text = this.text.slice(start, end).replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, "");
    return text.replaceAll(/\s+/g, " ").trim();
  }

  /** The comment that ends right above a node, as one line. */
  commentOf({ start }: Node): string {
    const before = this.text.slice(0, start).replace(/\/\/ oxfmt-ignore\s*$/, "");
    const [, comment = ""] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(before) ?? [];
    return comment
      .replaceAll(/^\s*\* ?/gm, "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/ \(spec \d[^)]*\)/g, "")
      .trim();
  }

  /** The statement that declares a name, with the comment above its `export`. */
  find(name: string): { readonly node: Node; readonly about: string } | undefined {
    for (const statement of this.body) {
      const node = (statement["declaration"] as Node | undefined) ?? statement;
      const declarators = (node["declarations"] as readonly Node[] | undefined) ?? [node];
      const found = declarators.find((each) => nameOf(each["id"]) === name);
      if (found !== undefined) return { node: found === node ? node : found, about: this.commentOf(statement) };
    }
    return undefined;
  }
}

function nameOf(node: unknown): string | undefined {
  const { name, value } = Object(node) as { readonly name?: string; readonly value?: string };
  return name ?? value;
}

const KINDS: Readonly<Record<string, Declared["kind"]>> = {
  FunctionDeclaration: "function",
  TSDeclareFunction: "function",
  VariableDeclarator: "value",
  ClassDeclaration: "class",
  TSInterfaceDeclaration: "type",
  TSTypeAliasDeclaration: "type",
};

function declaredIn(source: Source, name: string): Declared {
  const found = source.find(name);
  const kind = KINDS[found?.node.type ?? ""];
  if (found === undefined || kind === undefined) throw new Error(`Cannot find the declaration of "${name}"`);
  const { node } = found;
  const schema = schemaOf(source, node);
  const about = found.about === "" ? (schema?.about ?? "") : found.about;
  if (schema === undefined)
    return { name, kind, about, signature: signatureOf(source, node), members: membersOf(source, node) };
  const properties = objectOf(schema.node);
  const signature = properties === undefined ? source.of(schema.node) : "";
  return { name, kind, about, signature, members: (properties ?? []).flatMap((each) => memberOf(source, each)) };
}

function signatureOf(source: Source, node: Node): string {
  const body = node["body"] as Node | null | undefined;
  if (node.type === "FunctionDeclaration" && body) {
    const head = source.of({ ...node, end: body.start });
    return head.replace(/^(?:async )?function\*? /, "").trim();
  }
  if (node.type === "TSDeclareFunction") return source.of(node).replace(/^(?:async )?function\*? |;$/g, "");
  const bases = (node["extends"] as readonly Node[] | undefined) ?? [];
  if (bases.length > 0) return `extends ${bases.map((base) => source.of(base)).join(", ")}`;
  if (node.type !== "TSTypeAliasDeclaration" || literalOf(node) !== undefined) return "";
  return source.of(node["typeAnnotation"] as Node);
}

/** Members of an interface, a class or a type literal. */
function membersOf(source: Source, node: Node): readonly Member[] {
  return (literalOf(node) ?? []).flatMap((member) => memberOf(source, member));
}

function memberOf(source: Source, member: Node): readonly Member[] {
  const key = member["key"] as Node | undefined;
  const name = nameOf(key);
  if (name === undefined || key?.type === "PrivateIdentifier" || member["accessibility"] === "private") return [];
  const body = (member["value"] as Node | null | undefined)?.["body"] as Node | null | undefined;
  const text = source.of(member.type === "MethodDefinition" && body ? { ...member, end: body.start } : member);
  return [{ name, type: text.replace(/^readonly |[;,\s]+$/g, ""), about: source.commentOf(member) }];
}

function literalOf(node: Node): readonly Node[] | undefined {
  if (node.type === "TSInterfaceDeclaration" || node.type === "ClassDeclaration")
    return (node["body"] as { readonly body: readonly Node[] }).body;
  const type = node["typeAnnotation"] as Node | undefined;
  return type?.type === "TSTypeLiteral" ? (type["members"] as readonly Node[]) : undefined;
}

const INFERRED = /^z\.(?:infer|input)<(?:ReturnType<)?typeof (\w+)>?>$/;

/** The schema that a type is inferred from: the value of a constant, or what a function returns. */
function schemaOf(source: Source, node: Node): { readonly node: Node; readonly about: string } | undefined {
  if (node.type !== "TSTypeAliasDeclaration") return undefined;
  const [, name] = INFERRED.exec(source.of(node["typeAnnotation"] as Node)) ?? [];
  const found = name === undefined ? undefined : source.find(name);
  if (found === undefined) return undefined;
  const statements = ((found.node["body"] as Node | undefined)?.["body"] ?? []) as readonly Node[];
  const made = found.node["init"] ?? statements.find(({ type }) => type === "ReturnStatement")?.["argument"];
  return made === undefined ? undefined : { node: made as Node, about: found.about };
}

/** The properties of `z.strictObject({ … })`, also with `.refine(…)` and the like behind it. */
function objectOf(schema: Node): readonly Node[] | undefined {
  const callee = schema["callee"] as Node | undefined;
  if (callee === undefined) return undefined;
  const [first] = schema["arguments"] as readonly Node[];
  const isObject = nameOf(callee["property"]) === "strictObject" && first?.type === "ObjectExpression";
  return isObject ? (first["properties"] as readonly Node[]) : objectOf(Object(callee["object"]) as Node);
}

/** In the order in which `index.ts` exports them. */
function publicNames(index: string): readonly Declared[] {
  const sources = new Map<string, Source>();
  const open = (path: string): Source => {
    const source = sources.get(path) ?? new Source(path);
    sources.set(path, source);
    return source;
  };
  return exportsOf(open(index), index).map(({ name, path }) => resolveName(open, path, name));
}

interface Exported {
  readonly name: string;
  readonly path: string;
}

/** The names that a file re-exports. */
function exportsOf(source: Source, path: string): readonly Exported[] {
  return source.body.flatMap((statement) => {
    const from = nameOf(statement["source"]);
    if (statement.type !== "ExportNamedDeclaration" || from === undefined) return [];
    const target = join(dirname(path), from);
    return (statement["specifiers"] as readonly Node[]).map((each) => ({
      name: nameOf(each["exported"]) ?? "",
      path: target,
    }));
  });
}

function resolveName(open: (path: string) => Source, path: string, name: string): Declared {
  const source = open(path);
  const handedOn = exportsOf(source, path).find((each) => each.name === name);
  return handedOn === undefined ? declaredIn(source, name) : resolveName(open, handedOn.path, name);
}

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const HEAD = `# Library

Every name that \`@autonous/runtime\` exports; \`autonous\` exports them too, and adds those at the end. [embedding.md](embedding.md) shows how to use
them: most programs need \`createRuntime\`, \`defineTool\` and \`ToolError\`. A zod schema describes what is checked at run
time. \`@autonous/runtime/internal\` is for the \`autonous\` product itself: its names change without notice.
`;

const ADDED = `
## What \`autonous\` adds

The agent loop, the model providers, the service, and the tools in the formats of other agent loops.
[embedding.md](embedding.md) has an example of each.
`;

/** The page: the names of the runtime, then those that the product adds. Throws where a public name has no comment. */
export function libraryPage(index: string, table: Table, added?: string): string {
  const { functions, values, types } = partsOf(index, table);
  const own = ["## Functions\n", `${functions}\n`, "## Values\n", `${values}\n`, "## Types and classes\n", types];
  if (added === undefined) return `${[HEAD, ...own].join("\n")}\n`;
  const more = partsOf(added, table);
  return `${[HEAD, ...own, ADDED, `${more.functions}\n`, more.types].join("\n")}\n`;
}

interface PageParts {
  readonly functions: string;
  readonly values: string;
  readonly types: string;
}

function partsOf(index: string, table: Table): PageParts {
  const names = publicNames(index);
  const silent = names.filter(({ about }) => about === "").map(({ name }) => name);
  if (silent.length > 0) throw new Error(`Public names without a comment: ${silent.join(", ")}`);
  const code = (text: string): string => `\`${text.replaceAll("`", "'")}\``;
  const list = (kind: Declared["kind"]): string =>
    table(
      ["name", "meaning"],
      names
        .filter((each) => each.kind === kind)
        .map(({ name, signature, about }) => [code(signature === "" ? name : signature), about]),
    );
  const types = names
    .filter(({ kind }) => kind === "type" || kind === "class")
    .map(({ name, about, signature, members }) => {
      const rows = members.map((member) => [code(member.type), member.about]);
      const shown = [
        signature === "" ? "" : code(signature),
        rows.length === 0 ? "" : table(["member", "meaning"], rows),
      ];
      return [`### ${name}`, about, ...shown.filter((text) => text !== "")].join("\n\n");
    });
  return { functions: list("function"), values: list("value"), types: types.join("\n\n") };
}
