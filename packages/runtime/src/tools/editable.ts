import type { FileBefore } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";
import { decodeText } from "../text/encoding.ts";
import type { DecodedText } from "../text/encoding.ts";

// oxfmt-ignore
const REFUSALS = {
  binary:       "it is a binary file",
  "utf-16":     "it is UTF-16 text, and edits support only UTF-8",
  invalid_utf8: "it contains bytes that are not valid UTF-8, which an edit would destroy",
} as const;

/** The text of a file to edit. Refuses a file that would not survive decoding and encoding byte for byte. */
export async function readEditable(before: FileBefore, action: string): Promise<DecodedText> {
  const decoded = decodeText(await before.read());
  if (!("problem" in decoded)) return decoded;
  const { path } = before;
  throw new ToolError("InvalidArguments", `Cannot ${action} "${path}": ${REFUSALS[decoded.problem]}`, {
    path,
    problem: decoded.problem,
    hint: "Rewrite the whole file with write, or leave it unchanged.",
  });
}
