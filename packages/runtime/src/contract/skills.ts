import type { CommandChanges } from "./command-changes.ts";
import type { OpenedFile } from "./context.ts";

/** `user`: the person's own. `project`: it came with the workspace, or lies where tools can change it. */
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

/** What a person trusts, bound to the content: other content is another digest. */
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
  /** What else finds it: the name as published, and that of its folder, where no other skill is called so. */
  readonly aliases: readonly string[];
  /** At most 1024 characters. */
  readonly description: string;
  /** One that is not trusted neither narrows tools nor runs scripts. */
  readonly trusted: boolean;
  /** As SKILL.md has them. Left out: it does not restrict. */
  readonly allowed_tools?: readonly string[];
  /** Not to be offered to the model: only a person calls for it. */
  readonly disable_model_invocation: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of SKILL.md. */
  readonly sha256: string;
  /** SKILL.md as it is spelled in its folder. */
  readonly skill_md: string;
  readonly files: readonly SkillFile[];
  /** Those of its files that `run_script` runs: programs in folders "scripts" whose interpreter is installed. */
  readonly scripts: readonly SkillFile[];
  /** What lies in its folder and is not part of it, with a clause that says why. */
  readonly left_out: readonly { readonly path: string; readonly why: string }[];
  /** Clauses about what is not as the convention has it, and was loaded all the same. */
  readonly warnings: readonly string[];
}

/** What to do about a skill that is not trusted. */
export const TRUST_HINT = "Have a person look at it and trust it: autonous policy trust";

export interface BrokenSkill {
  /** The name of its folder. */
  readonly name: string;
  readonly source: SkillSource;
  readonly folder: string;
  /** Clauses about it. Never empty. */
  readonly problems: readonly string[];
}

/** The skills of a workspace and its user. */
export interface SkillIndex {
  /** In the order of the places, then by name. */
  readonly skills: readonly SkillEntry[];
  readonly broken: readonly BrokenSkill[];
  /** Skills that are called like one before them, and are found only where their source is named, if at all. */
  readonly shadowed: readonly { readonly skill: SkillEntry; readonly by: SkillIdentity }[];
  /** Places that could not be looked into, and limits that were reached. */
  readonly problems: readonly string[];
}

/** A name, or a name in one source. */
export interface SkillReference {
  readonly name: string;
  readonly source?: SkillSource | undefined;
}

/** A script by its path in the skill's folder, or a module of Python by its name: `scripts.report`. */
export type ScriptName = { readonly path: string } | { readonly module: string };

export interface FoundScript {
  readonly skill: SkillEntry;
  readonly script: SkillFile;
  /** It is run as a module: `python3 -m`. */
  readonly module?: string;
}

/** A script that may run: a copy of the skill, made for one call out of exactly the content that was judged. */
export interface ReadyScript extends FoundScript {
  run(args: readonly string[], options: ScriptOptions): Promise<ScriptEnd>;
  /** Removes the copy. */
  close(): void;
}

/** Skills, as far as a tool may use them. */
export interface ToolSkills {
  index(): Promise<SkillIndex>;
  /**
   * A skill as it is now, with the text of its SKILL.md. Throws `NotFound`, `InvalidArguments` for a broken one, and
   * `ToolNotAllowed` for one that is not trusted: its text is instructions to whoever reads it.
   */
  read(reference: SkillReference): Promise<{ readonly skill: SkillEntry; readonly body: string }>;
  /** One of its files as it is now, with the content that the skill's digest is of. Throws as `read` does; the caller closes it. */
  openFile(
    reference: SkillReference,
    path: string,
  ): Promise<{ readonly skill: SkillEntry; readonly path: string; readonly file: OpenedFile }>;
  /** A script as it is now. Throws as `read` does, `NotFound` and `InvalidArguments` for what is not a script of the skill. */
  findScript(reference: SkillReference, script: ScriptName): Promise<FoundScript>;
  /** Throws as `findScript` does. The caller closes it. */
  openScript(reference: SkillReference, script: ScriptName): Promise<ReadyScript>;
}

/**
 * `sandbox`: the run's own folder for what scripts make. `skill`: the copy of the skill, read-only. `workspace`: the
 * working folder.
 */
export const SCRIPT_FOLDERS = ["sandbox", "skill", "workspace"] as const;

interface ScriptOptions {
  readonly workdir: (typeof SCRIPT_FOLDERS)[number];
  readonly timeout_ms: number;
  readonly onOutput: (stream: "stdout" | "stderr", piece: Buffer) => void;
}

/** How a script ended, and what it did to the files below the roots. Its output went to `onOutput`. */
export interface ScriptEnd {
  readonly exit_code: number;
  readonly signal: string | null;
  readonly ended_by: "itself" | "timeout" | "cancel" | "limit";
  readonly limit_reached?: { readonly limit: string; readonly allowed: number; readonly found: number };
  /** It was stopped because this path was open to it, see `CommandEnd`. */
  readonly unprotected?: string;
  readonly sandbox: string;
  readonly changes: CommandChanges;
}

/** What runs a script: a program with its arguments, without a shell. All paths are real ones and judged. */
export type RunProgram = (
  command: {
    readonly run: readonly [program: string, ...args: string[]];
    readonly cwd: string;
    readonly writable: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  },
  options: Pick<ScriptOptions, "timeout_ms" | "onOutput"> & { readonly signal: AbortSignal },
) => Promise<ScriptEnd>;
