import { z } from "zod";
import type { Artifacts } from "../protocol/result.ts";
import type { ToolError } from "../protocol/errors.ts";
import type { Permission, PermissionClass, Risk, SideEffect } from "../protocol/call.ts";
import type { ToolContext } from "./context.ts";
import type { ScriptName, SkillReference } from "./skills.ts";
import type { UndoWish } from "./undo.ts";

export const ACCESSES = ["read", "list", "write", "delete"] as const;
export type Access = (typeof ACCESSES)[number];

/** A path that a call names, and what it would do there. */
export interface Touch {
  readonly path: string;
  readonly access: Access;
  /** Asks to see names that are hidden otherwise. Only with `list`. */
  readonly show_sensitive?: boolean;
}

/** A command that a call would run. */
export interface CommandTouch {
  /** As the shell gets it. */
  readonly command: string;
  /** The path of the folder it would run in. */
  readonly workdir: string;
  /** It asks for the network. */
  readonly network: boolean;
  /** It goes on after the call: what it changes then cannot be undone. */
  readonly background?: boolean;
  /** It asks to change files that run later. */
  readonly later?: boolean;
}

/** An address that a call would ask. */
export interface AddressTouch {
  readonly address: string;
}

/** A script of a skill that a call would run. */
export interface ScriptTouch {
  readonly skill: SkillReference;
  readonly script: ScriptName;
}

/** What `execute` gives back. The gate makes the result envelope of it. */
export interface ToolOutput<Data> {
  readonly data: Data;
  readonly stdout?: string;
  /** What stands right before and after `stdout` in its source: looked at for secrets that reach into it, and not shown. */
  readonly around?: { readonly before: string; readonly after: string };
  readonly stderr?: string;
  readonly exit_code?: number;
  readonly next_page_cursor?: string;
  readonly truncated_lines?: boolean;
  readonly truncated_bytes?: boolean;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly artifacts?: Partial<Artifacts>;
  /** The call failed, and has output all the same: a command that ended with an error, or was stopped. */
  readonly failure?: ToolError;
  /** Where the whole of an output is that was shortened already. */
  readonly aside?: { readonly storage_ref: string; readonly sha256: string };
  /** What `revert` needs to take this call back, as plain JSON. Only for tools that have one. */
  readonly undo?: unknown;
}

export type ArgsAdapter = (args: Readonly<Record<string, unknown>>) => Record<string, unknown>;

interface Alias {
  readonly name: string;
  /** Turns the arguments that callers of this name send into the tool's own. */
  readonly adapt?: ArgsAdapter;
}

/** An older major version that is still served. */
interface OldVersion {
  readonly major: number;
  readonly adapt: ArgsAdapter;
}

type Schema = z.ZodObject;

/** What a tool declares (spec 1, Tool). It never decides who may call it. */
export interface ToolDeclaration<Args extends Schema, Returns extends Schema> {
  /** Letters, digits, `_` and `-`, beginning with a letter; unique in a runtime. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  /** What models read. */
  readonly description: string | ((context: { readonly roots: readonly string[] }) => string);
  /** A schema, or what makes it when it is first needed: most processes use few of many tools. */
  readonly args: Args | (() => Args);
  /** The same for `data` of the result. */
  readonly returns: Returns | (() => Returns);
  /** What a call needs in any case. */
  readonly required_permissions: readonly Permission[];
  /** What a call may change. */
  readonly side_effects: readonly SideEffect[];
  /** Other names, with how their arguments are translated. */
  readonly aliases?: readonly Alias[];
  /** Earlier versions that callers may still ask for. */
  readonly old_versions?: readonly OldVersion[];
  /** Default: `high`. */
  readonly risk?: Risk | ((args: z.output<Args>) => Risk);
  /** The paths, commands and addresses of a call, for the policy to judge. */
  readonly touches?: (args: z.output<Args>) => readonly (Touch | CommandTouch | AddressTouch)[];
  /** Which recorded changes the call takes back: the gate looks up what they touch and judges that too. */
  readonly undoes?: (args: z.output<Args>) => UndoWish;
  /**
   * Whether a call with these arguments changes nothing, where only some calls of the tool do. Such a call is judged as
   * one that looks; the tool is offered wherever those may be made.
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
  /** May do what undo does not restore, or removes what it is given. Default: false. */
  readonly destructive?: boolean;
  /** May be repeated after a crash. Default: false. */
  readonly idempotent?: boolean;
  /**
   * It changes nothing but through `files.change`, which waits itself until the start of the call is on the disk. So
   * its work may begin meanwhile.
   */
  readonly changes_by_handle?: boolean;
  /**
   * A call can be tried without an effect: `execute` does nothing but plan changes by `files.change`, and have others
   * take back what is theirs by `undo.revert`. A person who is asked is then shown what would change.
   */
  readonly previews?: boolean;
  /** Which script of a skill the call runs. A person who is asked is told its content's hash, and no other runs. */
  readonly runs_script?: (args: z.output<Args>) => ScriptTouch;
  /** How long a call may take at most, where that is not what the runtime allows a call in general. */
  readonly deadline_ms?: number;
  /** Asks `onCheckpoint` before each call. Default: false. */
  readonly requires_checkpoint?: boolean;
  /** Asks `onReverseThinking` before each call. Default: false. */
  readonly requires_reverse_thinking?: boolean;
  /** Words by which `tool_search` finds it. */
  readonly search_hint?: string;
  /** Does the work, with files, processes and network from the context. */
  execute(args: z.output<Args>, context: ToolContext): Promise<ToolOutput<z.input<Returns>>>;
  /** Takes back what `execute` gave as `undo`; for tools whose changes are not files. */
  revert?(undo: unknown, context: ToolContext): Promise<void>;
}

/** A JSON Schema, as a plain object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool as the runtime keeps it: every default filled in, argument types erased. */
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
  /** Null where it depends on the arguments. */
  readonly risk: Risk | null;
  describe(context: { readonly roots: readonly string[] }): string;
  riskOf(args: Readonly<Record<string, unknown>>): Risk;
  touches(args: Readonly<Record<string, unknown>>): readonly (Touch | CommandTouch | AddressTouch)[];
  readonly undoes: ((args: Readonly<Record<string, unknown>>) => UndoWish) | undefined;
  readonly revert: ((undo: unknown, context: ToolContext) => Promise<void>) | undefined;
  execute(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolOutput<unknown>>;
}

const NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,127}$/;
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/**
 * Checks a declaration and fills in what it leaves out, always on the careful side: high risk, asked for
 * before it runs, alone, not run again after a crash. Throws `TypeError` on a declaration that cannot be right.
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
  type Given = z.output<Args>;
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
    // The gate calls these only with what the schema above let through, so the types are those of the declaration.
    riskOf: (given) => (typeof risk === "function" ? risk(given as Given) : risk),
    touches: (given) => touches?.(given as Given) ?? [],
    only_looks: only_looks && ((given) => only_looks(given as Given)),
    undoes: undoes && ((given) => undoes(given as Given)),
    runs_script: runs_script && ((given) => runs_script(given as Given)),
    revert: revert && ((undo, context) => revert.call(declaration, undo, context)),
    execute: (given, context) => execute.call(declaration, given as Given, context),
  };
}

/** What callers have to send, for them to see. */
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
    throw new TypeError(`Cannot define tool "${name}": a tool of class "file" has to say what it touches`);
  }
  if (permission_class === "readonly" && required_permissions.some((each) => each !== "fs.read")) {
    throw new TypeError(`Cannot define tool "${name}": class "readonly" goes with no permission but "fs.read"`);
  }
}
