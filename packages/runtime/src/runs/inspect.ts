import type { EscapeAttempt } from "../machine/sandbox/self-check.ts";
import { Commands } from "../late/commands.ts";
import type { SandboxMode } from "../protocol/configuration.ts";
import type { SkillIndex } from "../contract/skills.ts";
import { LazySkills } from "../late/lazy-skills.ts";
import type { IsTrusted } from "../machine/skills/load.ts";
import { prepareStart } from "../start/start.ts";
import { createLazyChanger } from "../late/lazy-changer.ts";

interface SkillsToList extends InspectOptions {
  /** Called for each skill of the workspace. Omitted: none of them is trusted. */
  readonly isTrustedSkill?: IsTrusted;
}

interface InspectOptions {
  readonly roots: readonly string[];
  readonly cwd?: string;
  readonly state_dir?: string;
  readonly sandbox?: SandboxMode;
}

/** The result of `inspectSandbox`. */
export interface SandboxReport {
  /** The name of the sandbox in force, or "none". */
  readonly level: string;
  /** Why no sandbox is available, if one was requested. */
  readonly problem?: string;
  /** Each attempted escape. Empty if no sandbox is in use. */
  readonly attempts: readonly EscapeAttempt[];
}

/** All skills, including broken and untrusted ones. */
export async function listSkills({ isTrustedSkill, ...options }: SkillsToList): Promise<SkillIndex> {
  const started = prepareStart({ ...options, checkpoint_handler: false, looking: true });
  return await new LazySkills({ ...started, isTrustedSkill }).index();
}

/** Opens the sandbox that commands would run in, and actually tries to escape from it. */
export async function inspectSandbox(options: InspectOptions): Promise<SandboxReport> {
  const started = prepareStart({ ...options, checkpoint_handler: false });
  const changer = createLazyChanger({ ...started, clock: Date.now });
  const commands = new Commands({ ...options, ...started, changer, network_allow: [] });
  try {
    return await commands.inspect();
  } finally {
    await commands.close();
    await changer.close();
  }
}
