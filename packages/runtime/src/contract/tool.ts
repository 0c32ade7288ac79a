import { z } from "zod";
import type { Artifacts } from "../protocol/result.ts";
import type { ToolError } from "../protocol/errors.ts";
import type { Permission, PermissionClass, Risk, SideEffect } from "../protocol/call.ts";
import type { ToolContext } from "./context.ts";
import type { ScriptName, SkillReference } from "./skills.ts";
import type { UndoRequest } from "./undo-keeper.ts";

export const ACCESSES = ["read", "list", "write", "delete"] as const;
export type Access = (typeof ACCESSES)[number];

/** A path that a call names, and the kind of access. */
export interface Touch {
  readonly path: string;
  readonly access: Access;
  /** Requests names that are hidden by default. Only with `list`. */
  readonly show_sensitive?: boolean;
}

/** A command that a call would run. */
export interface CommandTouch {
  /** The exact text for the shell. */
  readonly command: string;
  /** The folder to run in. */
  readonly workdir: string;
  /** Requests network access. */
  readonly network: boolean;
  /** Keeps running after the call: later changes cannot be undone. */
  readonly background?: boolean;
  /** Requests to change files that run later. */
  readonly later?: boolean;
}

/** A URL that a call would request. */
export interface AddressTouch {
  readonly address: string;
}

/** A script of a skill that a call would run. */
export interface ScriptTouch {
  readonly skill: SkillReference;
  readonly script: ScriptName;
}

/** The return value of `execute`. The gate builds the result envelope from it. */
export interface ToolOutput<Data> {
  readonly data: Data;
  readonly stdout?: string;
  /**
   * The text right before and after `stdout` in its source: checked for secrets that overlap `stdout`, and not shown.
   */
  readonly around?: { readonly before: string; readonly after: string };
  readonly stderr?: string;
  readonly exit_code?: number;
  readonly next_page_cursor?: string;
  readonly truncated_lines?: boolean;
  readonly truncated_bytes?: boolean;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly artifacts?: Partial<Artifacts>;
  /** The call failed but has output: a command that exited with an error, or was stopped. */
  readonly failure?: ToolError;
  /** Reference to the full output, if it was already shortened. */
  readonly aside?: { readonly storage_ref: string; readonly sha256: string };
  /** What `revert` needs to undo this call, as plain JSON. Only for tools with `revert`. */
  readonly undo?: unknown;
}

export type ArgsAdapter = (args: Readonly<Record<string, unknown>>) => Record<string, unknown>;

interface Alias {
  readonly name: string;
  /** Converts the arguments used with this name into the tool's own. */
  readonly adapt?: ArgsAdapter;
}

/** An older major version that is still supported. */
interface OldVersion {
  readonly major: number;
  readonly adapt: ArgsAdapter;
}

type Schema = z.ZodObject;

/** What a tool declares (spec 1, Tool). It does not decide who may call it. */
export interface ToolDeclaration<Args extends Schema, Returns extends Schema> {
  /** Letters, digits, `_` and `-`, starting with a letter; unique in a runtime. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  /** Shown to models. */
  readonly description: string | ((context: { readonly roots: readonly string[] }) => string);
  /** A schema, or a function that builds it on first use: most processes use few of the tools. */
  readonly args: Args | (() => Args);
  /** The same for `data` of the result. */
  readonly returns: Returns | (() => Returns);
  /** Required by every call. */
  readonly required_permissions: readonly Permission[];
  /** What a call may change. */
  readonly side_effects: readonly SideEffect[];
  /** Other names, with the conversion of their arguments. */
  readonly aliases?: readonly Alias[];
  /** Earlier versions that callers may still request. */
  readonly old_versions?: readonly OldVersion[];
  /** Default: `high`. */
  readonly risk?: Risk | ((args: z.output<Args>) => Risk);
  /** The paths, commands and addresses of a call, for the policy to evaluate. */
  readonly touches?: (args: z.output<Args>) => readonly (Touch | CommandTouch | AddressTouch)[];
  /** Which recorded changes the call undoes: the gate finds the paths they touch and evaluates those too. */
  readonly undoes?: (args: z.output<Args>) => UndoRequest;
  /**
   * Whether a call with these arguments is read-only, for tools with both kinds of calls. Such a call is evaluated as
   * read-only; the tool is offered wherever read-only calls are allowed.
   */
  readonly only_looks?: (args: z.output<Args>) => boolean;
  /** Default: `generic`, which needs approval unless a rule allows it. */
  readonly permission_class?: PermissionClass;
  /** The operation in the audit record. Default: `invoke`. */
  readonly audit_operation?: string;
  /** May run in parallel with others. Default: false. */
  readonly concurrency_safe?: boolean;
  /** Changes nothing. Default: false. */
  readonly read_only?: boolean;
  /** May do things that undo cannot restore, or removes what it is given. Default: false. */
  readonly destructive?: boolean;
  /** May be repeated after a crash. Default: false. */
  readonly idempotent?: boolean;
  /**
   * Changes things only through `files.change`, which itself waits until the start of the call is on disk. So its work
   * may start before that.
   */
  readonly changes_by_handle?: boolean;
  /**
   * A call can be previewed without side effects: `execute` only plans changes with `files.change` and has other tools
   * undo theirs with `undo.revert`. The approval prompt then shows what would change.
   */
  readonly previews?: boolean;
  /**
   * Which skill script the call runs. The approval prompt shows the hash of its content, and only that content runs.
   */
  readonly runs_script?: (args: z.output<Args>) => ScriptTouch;
  /** Timeout of a call, if it differs from the runtime's default. */
  readonly deadline_ms?: number;
  /** Calls `onCheckpoint` before each call. Default: false. */
  readonly requires_checkpoint?: boolean;
  /** Calls `onReverseThinking` before each call. Default: false. */
  readonly requires_reverse_thinking?: boolean;
  /** Keywords for `tool_search`. */
  readonly search_hint?: string;
  /** Does the work, with files, processes and network from the context. */
  execute(args: z.output<Args>, context: ToolContext): Promise<ToolOutput<z.input<Returns>>>;
  /** Undoes what `execute` returned as `undo`; for tools whose changes are not files. */
  revert?(undo: unknown, context: ToolContext): Promise<void>;
}

/** A JSON Schema, as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A registered tool: all defaults filled in, argument types erased. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  readonly aliases: readonly Alias[];
  readonly old_versions: readonly OldVersion[];
  readonly args: Schema;
  readonly returns: Schema;
  readonly args_schema: JsonSchema;
  readonly return_schema: JsonSchema;
  readonly required_permissions: readonly Permission[];
  readonly side_effects: readonly SideEffect[];
  readonly only_looks: ((args: Readonly<Record<string, unknown>>) => boolean) | undefined;
  readonly permission_class: PermissionClass;
  readonly audit_operation: string;
  readonly concurrency_safe: boolean;
  readonly read_only: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly changes_by_handle: boolean;
  readonly previews: boolean;
  readonly runs_script: ((args: Readonly<Record<string, unknown>>) => ScriptTouch) | undefined;
  readonly deadline_ms: number | undefined;
  readonly requires_checkpoint: boolean;
  readonly requires_reverse_thinking: boolean;
  readonly search_hint: string | undefined;
  /** Null if it depends on the arguments. */
  readonly risk: Risk | null;
  describe(context: { readonly roots: readonly string[] }): string;
  riskOf(args: Readonly<Record<string, unknown>>): Risk;
  touches(args: Readonly<Record<string, unknown>>): readonly (Touch | CommandTouch | AddressTouch)[];
  readonly undoes: ((args: Readonly<Record<string, unknown>>) => UndoRequest) | undefined;
  readonly revert: ((undo: unknown, context: ToolContext) => Promise<void>) | undefined;
  execute(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutput<unknown>>;
}

const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,127}$/;
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/**
 * Validates a declaration and fills in safe defaults: high risk, approval required, not concurrent, not repeated after
 * a crash. Throws `TypeError` for an invalid declaration.
 */
export function defineTool<Args extends Schema, Returns extends Schema>(
  declaration: ToolDeclaration<Args, Returns>,
): Tool {
  refuseBadDeclaration(declaration);
  const { risk = "high", touches, undoes, only_looks, runs_script, description, execute, revert } = declaration;
  const args = strictOnce(declaration.args);
  const returns = strictOnce(declaration.returns);
  let argsSchema: JsonSchema | undefined;
  let returnSchema: JsonSchema | undefined;
  type ParsedArgs = z.output<Args>;
  return {
    name: declaration.name,
    version: declaration.version,
    aliases: declaration.aliases ?? [],
    old_versions: declaration.old_versions ?? [],
    get args() {
      return args();
    },
    get returns() {
      return returns();
    },
    get args_schema() {
      return (argsSchema ??= schemaOf(args()));
    },
    get return_schema() {
      return (returnSchema ??= schemaOf(returns()));
    },
    required_permissions: declaration.required_permissions,
    side_effects: declaration.side_effects,
    permission_class: declaration.permission_class ?? "generic",
    audit_operation: declaration.audit_operation ?? "invoke",
    concurrency_safe: declaration.concurrency_safe ?? false,
    read_only: declaration.read_only ?? false,
    destructive: declaration.destructive ?? false,
    idempotent: declaration.idempotent ?? false,
    changes_by_handle: declaration.changes_by_handle ?? false,
    previews: declaration.previews ?? false,
    deadline_ms: declaration.deadline_ms,
    requires_checkpoint: declaration.requires_checkpoint ?? false,
    requires_reverse_thinking: declaration.requires_reverse_thinking ?? false,
    search_hint: declaration.search_hint,
    risk: typeof risk === "function" ? null : risk,
    describe: (context) => (typeof description === "function" ? description(context) : description),
    // The gate calls these only with arguments that passed the schema above, so the types are those of the declaration.
    riskOf: (given) => (typeof risk === "function" ? risk(given as ParsedArgs) : risk),
    touches: (given) => touches?.(given as ParsedArgs) ?? [],
    only_looks: only_looks && ((given) => only_looks(given as ParsedArgs)),
    undoes: undoes && ((given) => undoes(given as ParsedArgs)),
    runs_script: runs_script && ((given) => runs_script(given as ParsedArgs)),
    revert: revert && ((undo, context) => revert.call(declaration, undo, context)),
    execute: (given, context) => execute.call(declaration, given as ParsedArgs, context),
  };
}

/** The JSON Schema that callers see. */
export function schemaOf(schema: Schema): JsonSchema {
  return z.toJSONSchema(schema, { io: "input" });
}

function strictOnce(given: Schema | (() => Schema)): () => Schema {
  let schema: Schema | undefined;
  return () => (schema ??= (typeof given === "function" ? given() : given).strict());
}

function refuseBadDeclaration(declaration: ToolDeclaration<Schema, Schema>): void {
  const { name, version, permission_class, required_permissions } = declaration;
  const names = [name, ...(declaration.aliases ?? []).map((alias) => alias.name)];
  for (const each of names) {
    if (!NAME.test(each)) {
      throw new TypeError(`Cannot define tool "${name}": the name "${each}" is not letters, digits, "_" and "-"`);
    }
  }
  if (!VERSION.test(version)) {
    throw new TypeError(`Cannot define tool "${name}": the version "${version}" is not of the form 1.2.3`);
  }
  if (permission_class === "file" && declaration.touches === undefined) {
    throw new TypeError(`Cannot define tool "${name}": a tool of class "file" must declare "touches"`);
  }
  if (permission_class === "readonly" && required_permissions.some((each) => each !== "fs.read")) {
    throw new TypeError(`Cannot define tool "${name}": class "readonly" allows only the permission "fs.read"`);
  }
}
