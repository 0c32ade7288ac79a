import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { readLimit } from "../options.ts";
import { listSessions, sessionTable } from "../session/list-sessions.ts";

const SHOWN = 20;

/** `autonous sessions`: chats and runs of this folder that can be resumed. */
export async function sessions(input: CommandInput): Promise<ExitCode> {
  const { options, print } = input;
  const { state_dir } = findWorkplace(input);
  const found = await listSessions(state_dir, { limit: readLimit(options["limit"], SHOWN) });
  if (print.json) print.document(found);
  else if (found.length === 0) print.note('No sessions in this folder yet; "autonous chat" starts one');
  else {
    print.text(sessionTable(found, { width: print.textWidth, now: Date.now() }));
    print.note("Resume one: autonous chat --resume <run>; the newest chat: autonous chat --continue");
  }
  return EXIT.done;
}
