import type { Access, Tool } from "../contract/tool.ts";
import type { Permission, Risk } from "../protocol/call.ts";
import type { PolicyConfiguration, ProfileName } from "../protocol/configuration.ts";
import type { AddressVerdict } from "./check-address.ts";
import type { CommandVerdict } from "./check-command.ts";
import type { NamedPlace } from "./command-words.ts";
import type { NeededPermissions } from "./needed-permissions.ts";
import type { ParsedShell } from "../shell/parsed-shell.ts";

/** What of a tool plays a part in a decision. The labels `read_only` and `destructive` do not (spec 1). */
export type ToolFacts = Pick<
  Tool,
  "name" | "permission_class" | "required_permissions" | "side_effects" | "requires_checkpoint"
> &
  Partial<Pick<Tool, "only_looks">>;

/** A path that a call names, and where it really leads. */
export interface ResolvedTouch {
  /** As the caller gave it: for messages only, never judged. */
  readonly path: string;
  /** Absolute and normalised. For something that is not there: its real parent and its name. */
  readonly real: string;
  readonly access: Access;
  readonly show_sensitive: boolean;
  readonly exists: boolean;
  /** Names of a pattern below `real`, where a word of a command is one. */
  readonly names?: readonly string[];
  /** The real folder of the user's own skill that it leads into. Only of what is read or listed. */
  readonly skill_folder?: string;
}

/** What the index of a repository has. */
export interface TrackedFiles {
  /** The top of the working folder: a real path. */
  readonly top: string;
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Whether such a file is in the working folder: one that a person deleted is hidden from nobody. */
  isThere(path: string): boolean;
}

/** A command that a call would run. */
export interface NamedCommand {
  readonly parsed: ParsedShell;
  /** What `judgeCommands` says of it. */
  readonly verdict: CommandVerdict;
  /** Known to change no file. */
  readonly read_only: boolean;
  /** Where the folder that it would run in really is. */
  readonly folder: string;
  readonly network: boolean;
  readonly needs: NeededPermissions;
  /** A part of it that may touch more than its words name. Left out: the words tell all. */
  readonly untold?: string;
  /** The paths that its words name. Found when they are first asked for. */
  readonly places: readonly NamedPlace[];
  /** What git knows in the repository that a folder lies in. Looked up when it is asked; left out: not known. */
  readonly tracked?: (folder: string) => TrackedFiles | undefined;
  /** It goes on after the call, so that undo does not cover what it changes. */
  readonly background?: boolean;
  /** It asks to change files that run later, whichever they are. */
  readonly later?: boolean;
}

/** An address that a call would ask. */
export interface NamedAddress {
  /** As it may be shown. */
  readonly shown: string;
  /** What `judgeAddress` says of it. */
  readonly verdict: AddressVerdict;
}

export interface CallFacts {
  readonly tool: ToolFacts;
  readonly risk: Risk;
  readonly touches: readonly ResolvedTouch[];
  readonly commands?: readonly NamedCommand[];
  readonly addresses?: readonly NamedAddress[];
  /** The permissions that the caller asked for. Left out: whatever it needs. */
  readonly requested?: readonly Permission[];
  /** It only brings back what was there before the changes of a run, each where nobody changed it since. */
  readonly restores?: boolean;
  /**
   * Whether undo brings back whatever the commands of this call change in the workspace. Left out: it does where they
   * run in a sandbox.
   */
  readonly undo_covers_workspace?: boolean;
  readonly chat?: string;
  readonly user?: string;
}

/**
 * What runs later though its name does not tell: what git's own configuration names below the roots, this program, and
 * what links at places that run later lead to.
 */
export type GitPlaces = readonly {
  readonly path: string;
  readonly why: string;
  readonly is_program?: true;
  /** Of a program: what a package manager writes. A yes to changing what runs later opens it, and not what is ours in it. */
  readonly is_packages?: true;
  readonly is_linked?: true;
}[];

/** Where paths may lead. Folded forms are kept per object, so pass the same one again instead of a copy. */
export interface Places {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
  readonly git_places?: GitPlaces;
  /** Real paths of the runtime's own state, out of reach of every tool. */
  readonly state_dirs: readonly string[];
  /** Names above this folder close nothing in it: it is the folder of one of the user's own skills. */
  readonly judged_from?: string;
  /** State folders that were named as roots. Not among `roots`; a path in one is refused as state, not as outside. */
  readonly own_roots?: readonly string[];
}

export interface WorkspaceContext extends Places {
  readonly checkpoint_handler: boolean;
  /** The skills that are active, for reasons. */
  readonly skill_names?: readonly string[];
  /** `allowed-tools` of the active skill. Left out: no skill narrows. */
  readonly skill_tools?: readonly string[];
  /** The first words of the commands that the active skill leaves; an empty one ends the command. Left out: no skill narrows. */
  readonly skill_commands?: readonly (readonly string[])[];
  /** What the run leaves of the tools. Left out: the run does not narrow. */
  readonly runtime_tools?: readonly string[];
  /** The name of the sandbox that commands run in, or "none". */
  readonly sandbox: "none" | (string & {});
}

/** Where a rule stands. */
export interface RuleOrigin {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
}

/** What one configuration file says. */
export interface PolicyLayer {
  /** Left out: it names none. */
  readonly profile?: ProfileName;
  readonly configuration: PolicyConfiguration;
  /** Where each of its rules stands, in their order. Left out: it came from no file. */
  readonly origins?: readonly (RuleOrigin | undefined)[];
}

/** What is in force. Compiled rules are kept per configuration, so pass the same one again instead of a copy. */
export interface DecisionSettings extends PolicyLayer {
  readonly profile: ProfileName;
  /** Those of projects that nobody has trusted. `narrowBy` puts them here: each can only tighten. */
  readonly projects?: readonly PolicyLayer[];
}
