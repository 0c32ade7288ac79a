import { parseCommands } from "../../shell/parse-commands.ts";
import type { ParsedShell } from "../../shell/parsed-shell.ts";
import { judgeCommands } from "./check-command.ts";
import { permissionsOfText } from "./command-permissions.ts";
import type { CommandGround } from "./command-places.ts";
import { namedPlaces } from "./command-words.ts";
import type { ResolveWord } from "./command-words.ts";
import type { NamedCommand } from "../facts.ts";
import { showsAllPaths } from "./program-roles.ts";
import { isReadOnly } from "./read-only-commands.ts";

interface NamingContext extends CommandGround {
  readonly folder: string;
  readonly network: boolean;
  readonly background?: boolean;
  readonly later?: boolean;
  /** See `CommandContext`. */
  readonly denylist?: string;
  /** Resolves real paths. Called when the places are first used. */
  readonly resolve: ResolveWord;
  /** See `NamedCommand`. */
  readonly tracked?: NamedCommand["tracked"];
}

/** The facts of a command that a call would run. */
export function nameCommand(
  text: string,
  { network, background = false, later = false, denylist = "", resolve, tracked, ...ground }: NamingContext,
): NamedCommand {
  const parsed = parseCommands(text);
  const untold = untoldIn(parsed);
  let places: NamedCommand["places"] | undefined;
  return {
    parsed,
    verdict: judgeCommands(parsed, { ...ground, denylist }),
    read_only: isReadOnly(parsed),
    folder: ground.folder,
    network,
    background,
    later,
    needs: permissionsOfText(parsed),
    ...(untold === undefined ? {} : { untold }),
    ...(tracked === undefined ? {} : { tracked }),
    get places() {
      return (places ??= namedPlaces(parsed, ground, resolve));
    },
  };
}

/** A command that may touch more than its words name. */
function untoldIn({ commands, opaque }: ParsedShell): string | undefined {
  const [first] = opaque;
  if (first !== undefined) return first.text;
  return commands.find((each) => !showsAllPaths(each))?.words[0]?.text;
}
