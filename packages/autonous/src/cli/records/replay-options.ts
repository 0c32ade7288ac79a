import { locateState } from "@autonous/runtime";
import { SETTINGS } from "../../config/settings.ts";
import type { Workplace } from "../session/open-runtime.ts";

/** What a command has to be given beside the call itself, so that it works in the same place in the same way. */
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
