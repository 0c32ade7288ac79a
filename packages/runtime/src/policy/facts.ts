import type { Access, Tool } from "../contract/tool.ts";
import type { Permission, Risk } from "../protocol/call.ts";
import type { PolicyConfiguration, ProfileName } from "../protocol/configuration.ts";
import type { AddressVerdict } from "./check-address.ts";
import type { CommandVerdict } from "./commands/check-command.ts";
import type { NamedPlace } from "./commands/command-words.ts";
import type { NeededPermissions } from "./commands/needed-permissions.ts";
import type { ParsedShell } from "../shell/parsed-shell.ts";

/** The parts of a tool that a decision depends on. The labels `read_only` and `destructive` are ignored (spec 1). */
export type ToolFacts = Pick<
  Tool,
  "name" | "permission_class" | "required_permissions" | "side_effects" | "requires_checkpoint"
> &
  Partial<Pick<Tool, "only_looks">>;

/** A path that a call names, with its real path. */
export interface ResolvedTouch {
  /** As the caller gave it: for messages only, never judged. */
  readonly path: string;
  /** Absolute and normalised. If it does not exist: its real parent and its name. */
  readonly real: string;
  readonly access: Access;
  readonly show_sensitive: boolean;
  readonly exists: boolean;
  /** The names of a pattern below `real`, if a word of a command is a pattern. */
  readonly names?: readonly string[];
  /** The real folder of the user's own skill that contains it. Only for reading and listing. */
  readonly skill_folder?: string;
}

/** The files in the index of a repository. */
export interface TrackedFiles {
  /** The top of the working folder: a real path. */
  readonly top: string;
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Whether such a file is in the working folder: a file that the user has deleted need not be hidden. */
  isThere(path: string): boolean;
}

/** A command that a call would run. */
export interface NamedCommand {
  readonly parsed: ParsedShell;
  /** The result of `judgeCommands`. */
  readonly verdict: CommandVerdict;
  /** Known to change no file. */
  readonly read_only: boolean;
  /** The real path of the folder that it would run in. */
  readonly folder: string;
  readonly network: boolean;
  readonly needs: NeededPermissions;
  /** A part of it that may touch more than its words name. Omitted if the words show everything. */
  readonly untold?: string;
  /** The paths that its words name. Computed on first use. */
  readonly places: readonly NamedPlace[];
  /** The tracked files of the repository that contains a folder. Looked up on use; omitted if unknown. */
  readonly tracked?: (folder: string) => TrackedFiles | undefined;
  /** It continues after the call, so undo does not cover its changes. */
  readonly background?: boolean;
  /** It requests to change files that run later, whichever they are. */
  readonly later?: boolean;
}

/** An address that a call would contact. */
export interface NamedAddress {
  /** The form that is safe to show. */
  readonly shown: string;
  /** The result of `judgeAddress`. */
  readonly verdict: AddressVerdict;
}

export interface CallFacts {
  readonly tool: ToolFacts;
  readonly risk: Risk;
  readonly touches: readonly ResolvedTouch[];
  readonly commands?: readonly NamedCommand[];
  readonly addresses?: readonly NamedAddress[];
  /** The permissions that the caller requested. Omitted: everything the call needs. */
  readonly requested?: readonly Permission[];
  /** It only restores content from before a run's changes, and only where nothing has changed the file since. */
  readonly restores?: boolean;
  /**
   * Whether undo restores whatever the commands of this call change in the workspace. Omitted: it does if they run in a
   * sandbox.
   */
  readonly undo_covers_workspace?: boolean;
  readonly chat?: string;
  readonly user?: string;
}

/**
 * Paths that run later although their names do not show it: what git's own configuration names below the roots, this
 * program, and the targets of links at places that run later.
 */
export type GitPlaces = readonly {
  readonly path: string;
  readonly why: string;
  readonly is_program?: true;
  /** Packages of a program: approval to change files that run later opens them, except the runtime's own files. */
  readonly is_packages?: true;
  readonly is_linked?: true;
}[];

/** Where paths may lead. Folded forms are cached per object, so pass the same object again instead of a copy. */
export interface Places {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly git_places?: GitPlaces;
  /** Real paths of the runtime's own state, closed to every tool. */
  readonly state_dirs: readonly string[];
  /** The folder of one of the user's own skills: names above it do not close anything in it. */
  readonly judged_from?: string;
  /** State folders that were given as roots. Not in `roots`; a path in one is refused as state, not as outside. */
  readonly own_roots?: readonly string[];
}

export interface WorkspaceContext extends Places {
  readonly checkpoint_handler: boolean;
  /** The active skills, for messages. */
  readonly skill_names?: readonly string[];
  /** `allowed-tools` of the active skill. Omitted: no skill restricts tools. */
  readonly skill_tools?: readonly string[];
  /**
   * The first words of the commands that the active skill allows; an empty word ends the command. Omitted: no
   * restriction.
   */
  readonly skill_commands?: readonly (readonly string[])[];
  /** The tools that the run allows. Omitted: the run does not restrict tools. */
  readonly runtime_tools?: readonly string[];
  /** The name of the sandbox that commands run in, or "none". */
  readonly sandbox: "none" | (string & {});
}

/** Where a rule is defined. */
export interface RuleOrigin {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

/** The content of one configuration file. */
export interface PolicyLayer {
  /** Omitted if the file names none. */
  readonly profile?: ProfileName;
  readonly configuration: PolicyConfiguration;
  /** Where each rule is defined, in order. Omitted if it did not come from a file. */
  readonly origins?: readonly (RuleOrigin | undefined)[];
}

/**
 * The settings in force. Compiled rules are cached per configuration, so pass the same object again instead of a copy.
 */
export interface DecisionSettings extends PolicyLayer {
  readonly profile: ProfileName;
  /** Those of untrusted projects. `narrowBy` puts them here: each can only tighten. */
  readonly projects?: readonly PolicyLayer[];
}
