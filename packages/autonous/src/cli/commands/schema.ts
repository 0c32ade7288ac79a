import { makeConfigurationSchema } from "../../config/schema.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";

/** `autonous policy schema`: what configuration files may hold, for editors. JSON either way: it is a document. */
export async function schema({ print }: CommandInput): Promise<ExitCode> {
  const document = makeConfigurationSchema();
  if (print.json) print.document(document);
  print.text(JSON.stringify(document, null, 2));
  return EXIT.done;
}
