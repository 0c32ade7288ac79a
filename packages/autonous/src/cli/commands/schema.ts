import { makeConfigurationSchema } from "../../config/settings-schema.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";

/** `autonous policy schema`: the schema of configuration files, for editors. Always JSON, with or without --json. */
export async function schema({ print }: CommandInput): Promise<ExitCode> {
  const document = makeConfigurationSchema();
  if (print.json) print.document(document);
  print.text(JSON.stringify(document, null, 2));
  return EXIT.done;
}
