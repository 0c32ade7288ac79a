import type { CommandChanges } from "./command-changes.ts";
import type { OpenedFile } from "./context.ts";

/** `user`: the user's own. `project`: part of the workspace, or in a folder that tools can change. */
export const SKILL_SOURCES = ["user", "project"] as const;
export type SkillSource = (typeof SKILL_SOURCES)[number];

/** A file of a skill. */
export interface SkillFile {
  /** Below the skill's folder, with "/" between names. */
  readonly path: string;
  readonly bytes: number;
  readonly executable: boolean;
  readonly sha256: string;
}

/** What a person trusts, bound to the content: different content has a different digest. */
export interface SkillIdentity {
  readonly name: string;
  readonly source: SkillSource;
  /** Its real folder. */
  readonly folder: string;
  /** Of all its files: their names, content and whether they are executable. */
  readonly digest: string;
}

/** A skill in the index. Its body is read on demand. */
export interface SkillEntry extends SkillIdentity {
  /** Other names that find it: the published name and the folder name, unless another skill has that name. */
  readonly aliases: readonly string[];
  /** At most 1024 characters. */
  readonly description: string;
  /** An untrusted skill neither restricts tools nor runs scripts. */
  readonly trusted: boolean;
  /** As listed in SKILL.md. Omitted: no restriction. */
  readonly allowed_tools?: readonly string[];
  /** Not offered to the model: only a person can invoke it. */
  readonly disable_model_invocation: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of SKILL.md. */
  readonly sha256: string;
  /** The file name of SKILL.md as spelled in its folder. */
  readonly skill_md: string;
  readonly files: readonly SkillFile[];
  /** The files that `run_script` can run: programs in "scripts" folders whose interpreter is installed. */
  readonly scripts: readonly SkillFile[];
  /** Files in its folder that are not part of it, with the reason as a clause. */
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
  /** Clauses about deviations from the convention that did not prevent loading. */
  readonly warnings: readonly string[];
}

/** The next step for an untrusted skill. */
export const TRUST_HINT = "Ask the user to review and trust it: autonous policy trust";

export interface BrokenSkill {
  /** The name of its folder. */
  readonly name: string;
  readonly source: SkillSource;
  readonly folder: string;
  /** Clauses. Never empty. */
  readonly problems: readonly string[];
}

/** The skills of a workspace and its user. */
export interface SkillIndex {
  /** In the order of the places, then by name. */
  readonly skills: readonly SkillEntry[];
  readonly broken: readonly BrokenSkill[];
  /** Skills with the name of an earlier one: found only together with their source, if at all. */
  readonly shadowed: readonly { readonly skill: SkillEntry; readonly by: SkillIdentity }[];
  /** Folders that could not be read, and limits that were reached. */
  readonly problems: readonly string[];
}

/** A name, or a name in one source. */
export interface SkillReference {
  readonly name: string;
  readonly source?: SkillSource | undefined;
}

/** A script by its path in the skill's folder, or a Python module by its name: `scripts.report`. */
export type ScriptName = { readonly path: string } | { readonly module: string };

export interface SkillScript {
  readonly skill: SkillEntry;
  readonly script: SkillFile;
  /** Run as a module: `python3 -m`. */
  readonly module?: string;
}

/**
 * A script that is ready to run: a copy of the skill, made for one call from exactly the content that was evaluated.
 */
export interface ReadyScript extends SkillScript {
  run(args: readonly string[], options: ScriptOptions): Promise<ScriptEnd>;
  /** Removes the copy. */
  close(): void;
}

/** Skills that a tool may use. */
export interface ToolSkills {
  index(): Promise<SkillIndex>;
  /**
   * The current skill with the text of its SKILL.md. Throws `NotFound`, `InvalidArguments` if it is broken, and
   * `ToolNotAllowed` if it is not trusted, because a model follows its text as instructions.
   */
  read(reference: SkillReference): Promise<{ readonly skill: SkillEntry; readonly body: string }>;
  /** One of its current files; the content matches the skill's digest. Throws as `read` does; the caller closes it. */
  openFile(
    reference: SkillReference,
    path: string,
  ): Promise<{ readonly skill: SkillEntry; readonly path: string; readonly file: OpenedFile }>;
  /**
   * The current script. Throws as `read` does, `NotFound` and `InvalidArguments` if it is not a script of the skill.
   */
  findScript(reference: SkillReference, script: ScriptName): Promise<SkillScript>;
  /** Throws as `findScript` does. The caller closes it. */
  openScript(reference: SkillReference, script: ScriptName): Promise<ReadyScript>;
}

/**
 * `sandbox`: the run's own folder for script output. `skill`: the copy of the skill, read-only. `workspace`: the
 * working folder.
 */
export const SCRIPT_FOLDERS = ["sandbox", "skill", "workspace"] as const;

interface ScriptOptions {
  readonly workdir: (typeof SCRIPT_FOLDERS)[number];
  readonly timeout_ms: number;
  readonly onOutput: (stream: "stdout" | "stderr", piece: Buffer) => void;
}

/** How a script ended and which files below the roots it changed. Its output went to `onOutput`. */
export interface ScriptEnd {
  readonly exit_code: number;
  readonly signal: string | null;
  readonly ended_by: "itself" | "timeout" | "cancel" | "limit";
  readonly limit_reached?: { readonly limit: string; readonly allowed: number; readonly found: number };
  /** The command was stopped because the sandbox could not protect this path, see `CommandEnd`. */
  readonly unprotected?: string;
  readonly sandbox: string;
  readonly changes: CommandChanges;
}

/** Runs a script: a program with its arguments, without a shell. All paths are real paths that were evaluated. */
export type RunProgram = (
  command: {
    readonly run: readonly [program: string, ...args: string[]];
    readonly cwd: string;
    readonly writable: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  },
  options: Pick<ScriptOptions, "timeout_ms" | "onOutput"> & { readonly signal: AbortSignal },
) => Promise<ScriptEnd>;
