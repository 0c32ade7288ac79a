import { redact } from "@autonous/runtime";
import { isBuiltInTool, makeVisible, secretsOf } from "@autonous/runtime/internal";
import type { RuntimeOptions, Tool } from "@autonous/runtime";
import type { Configuration, ModuleReference } from "./load.ts";
import { bindModule } from "./module-files.ts";
import type { BoundModule } from "./module-files.ts";
import type { NamedModule } from "./service-modules.ts";
import { changesSince, TrustStore } from "./trust-store.ts";

/** The runtime options that modules provide. */
type ModuleOptions = Pick<RuntimeOptions, "more_tools" | "own_files" | "onCheckpoint" | "onReverseThinking">;

export interface LoadedModules {
  readonly options: ModuleOptions;
  /** The modules in force, by path. */
  readonly loaded: readonly {
    readonly path: string;
    readonly tools: readonly string[];
    readonly handlers: readonly string[];
  }[];
  /** Modules whose current content is not trusted: sentences that say what to do. */
  readonly refused: readonly string[];
  /** Modules that cannot be loaded: sentences that say what to do. */
  readonly broken: readonly string[];
}

const HANDLERS = ["onCheckpoint", "onReverseThinking"] as const;
const REVIEW_HINT = "review and trust it: autonous policy trust";

interface LoadState {
  readonly tools: Tool[];
  readonly names: Map<string, string>;
  readonly handlers: { -readonly [Name in (typeof HANDLERS)[number]]?: ModuleOptions[Name] };
  readonly files: Set<string>;
  readonly loaded: LoadedModules["loaded"][number][];
  readonly refused: string[];
  readonly broken: string[];
}

/** Loads the modules whose current content is trusted, and those that a service named. Never throws: reports the others. */
export async function loadModules(
  { modules }: Pick<Configuration, "modules">,
  named: readonly NamedModule[] = [],
): Promise<LoadedModules> {
  const loading: LoadState = {
    tools: [],
    names: new Map(),
    handlers: {},
    files: new Set(),
    loaded: [],
    refused: [],
    broken: [],
  };
  const trust = new TrustStore(process.env);
  for (const reference of modules) await loadOne(reference, (module) => whyNotTrusted(module, trust), loading);
  for (const { path, digest } of named) {
    const reference = { path, where: "createService", is_named: true };
    await loadOne(
      reference,
      ({ thing }) => (thing.digest === digest ? undefined : "it has changed since the service was created; restart it"),
      loading,
    );
  }
  const { tools, handlers, files, loaded, refused, broken } = loading;
  const options = { ...handlers, ...(tools.length === 0 ? {} : { more_tools: tools }), own_files: [...files] };
  return { options, loaded, refused, broken };
}

async function loadOne(
  { path, where, is_named }: ModuleReference,
  whyRefused: (module: BoundModule) => string | undefined,
  loading: LoadState,
): Promise<void> {
  const about = `module "${makeVisible(path)}" (${makeVisible(where)})`;
  const fail = (why: string): void =>
    void loading.broken.push(`Cannot load the ${about}: ${why}. Fix it, or remove it from "modules"`);
  const refuse = (why: string): void => void loading.refused.push(`Not in force: ${about}: ${why}`);
  loading.files.add(path); // also if it does not exist yet: a file created there would be loaded
  // Do not open files of an untrusted repository, and do not let it block a command.
  if (!is_named) return refuse(`the configuration that names it is not trusted; ${REVIEW_HINT}`);
  const module = bindModule(path);
  if ("problem" in module) return fail(module.problem);
  for (const file of module.sources.keys()) loading.files.add(file);
  const why = whyRefused(module);
  if (why !== undefined) return refuse(why);
  try {
    const { importModule } = await import("./import-module.ts");
    take(await importModule(module), module.thing.path, loading);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    fail(makeVisible(redact(message.slice(0, MAX_CAUSE), { known: secretsOf(process.env) }).text));
  }
}

const MAX_CAUSE = 500;

function whyNotTrusted({ thing }: BoundModule, trust: TrustStore): string | undefined {
  if (trust.isTrusted(thing)) return undefined;
  const before = trust.find(thing);
  if (before === undefined) return `no person has trusted it; ${REVIEW_HINT}`;
  return `it has changed since it was trusted (${changesSince(before, thing).slice(0, 5).join(", ")}); ${REVIEW_HINT}`;
}

/** Throws if any export is invalid; then nothing of the module is used. */
function take(exported: Readonly<Record<string, unknown>>, path: string, loading: LoadState): void {
  const { tools = [] } = exported;
  if (!Array.isArray(tools) || !tools.every(isTool))
    throw new TypeError('"tools" has to be a list of tools that defineTool made');
  const handlers = HANDLERS.filter((name) => exported[name] !== undefined);
  for (const name of handlers) {
    if (typeof exported[name] !== "function") throw new TypeError(`"${name}" has to be a function`);
    if (loading.handlers[name] !== undefined) throw new TypeError(`another module exports "${name}" already`);
  }
  if (tools.length === 0 && handlers.length === 0)
    throw new TypeError(`it exports none of tools, ${HANDLERS.join(", ")}`);
  const names = tools.flatMap((tool) => [tool.name, ...tool.aliases.map((alias) => alias.name)]);
  const taken = names.find((name) => loading.names.has(name) || isBuiltInTool(name));
  if (taken !== undefined)
    throw new TypeError(`the tool name "${taken}" is taken by ${loading.names.get(taken) ?? "a built-in tool"}`);
  for (const name of names) loading.names.set(name, `"${path}"`);
  loading.tools.push(...tools);
  Object.assign(loading.handlers, Object.fromEntries(handlers.map((name) => [name, exported[name]])));
  loading.loaded.push({ path, tools: tools.map(({ name }) => name), handlers });
}

function isTool(value: unknown): value is Tool {
  const { name, aliases, args_schema, execute } = Object(value) as Readonly<Record<string, unknown>>;
  return (
    typeof name === "string" && Array.isArray(aliases) && args_schema !== undefined && typeof execute === "function"
  );
}
