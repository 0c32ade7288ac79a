import type { FileBefore } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";
import { decodeText } from "../text/encoding.ts";
import type { DecodedText } from "../text/encoding.ts";

// oxfmt-ignore
const REFUSALS = {
  binary:       "it is a binary file",
  "utf-16":     "it is UTF-16 text, and only UTF-8 is edited",
  invalid_utf8: "it holds bytes that are no UTF-8, which an edit would destroy",
} as const;

/** The text of a file that is to be edited. A file that would not come back byte for byte is refused. */
export async function readEditable(before: FileBefore, deed: string): Promise<DecodedText> {
  const decoded = decodeText(await before.read());
  if (!("problem" in decoded)) return decoded;
  const { path } = before;
  throw new ToolError("InvalidArguments", `Cannot ${deed} "${path}": ${REFUSALS[decoded.problem]}`, {
    path,
    problem: decoded.problem,
    hint: "Write the whole file anew with write, or leave it alone.",
  });
}
