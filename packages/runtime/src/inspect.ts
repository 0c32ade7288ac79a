import type { EscapeAttempt } from "./machine/sandbox/self-check.ts";
import { Commands } from "./commands.ts";
import type { SandboxMode } from "./protocol/configuration.ts";
import type { SkillIndex } from "./contract/skills.ts";
import { LazySkills } from "./lazy-skills.ts";
import type { IsTrusted } from "./machine/skills/load.ts";
import { prepareStart } from "./start.ts";
import { LazyChanger } from "./lazy-changer.ts";

interface SkillsToList extends InspectOptions {
  /** Asked about each that came with the workspace. Left out: none of them is trusted. */
  readonly isTrustedSkill?: IsTrusted;
}

interface InspectOptions {
  readonly roots: readonly string[];
  readonly cwd?: string;
  readonly state_dir?: string;
  readonly sandbox?: SandboxMode;
}

/** What `inspectSandbox` found. */
export interface SandboxReport {
  /** The name of the sandbox in force, or "none". */
  readonly level: string;
  /** Why there is none, though one was wanted. */
  readonly problem?: string;
  /** Each way out that was tried. Empty where there is no sandbox to get out of. */
  readonly attempts: readonly EscapeAttempt[];
}

/** Every skill that is found, those that are broken or not trusted too. */
export async function listSkills({ isTrustedSkill, ...options }: SkillsToList): Promise<SkillIndex> {
  const started = prepareStart({ ...options, checkpoint_handler: false, looking: true });
  return await new LazySkills({ ...started, isTrustedSkill }).index();
}

/** Opens the sandbox that commands would run in, and really tries to get out of it. */
export async function inspectSandbox(options: InspectOptions): Promise<SandboxReport> {
  const started = prepareStart({ ...options, checkpoint_handler: false });
  const changer = new LazyChanger({ ...started, clock: Date.now });
  const commands = new Commands({ ...options, ...started, changer, network_allow: [] });
  try {
    return await commands.inspect();
  } finally {
    await commands.close();
    await changer.close();
  }
}
