import { locateState } from "@autonous/runtime/internal";
import { SETTINGS } from "../../config/settings.ts";
import type { Workplace } from "../../workplace/workplace.ts";

/** The options that make a command run in the same workspace with the same profile. */
export function replayOptions({ opened, state_dir, configuration }: Workplace): readonly string[] {
  const here = process.cwd();
  const { profile } = configuration.settings;
  const isHere = opened.length === 1 && opened[0] === here;
  return [
    ...(isHere ? [] : opened.flatMap((root) => ["--root", root])),
    ...(state_dir === locateState({ workspace: here }) ? [] : ["--state-dir", state_dir]),
    ...(profile === SETTINGS.profile.default ? [] : ["--profile", profile]),
  ];
}
