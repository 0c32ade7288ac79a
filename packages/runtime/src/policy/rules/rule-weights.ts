/**
 * What each condition adds to the specificity of a rule. Each outweighs all below it together, so the most specific
 * condition decides and further ones only refine; of two paths the one with more literal characters is closer.
 */
// oxfmt-ignore
export const WEIGHTS = {
  character:  256, // for each literal character of a path, command or domain; a path is counted from "/"
  close:      256, // a path, command or domain
  tool:       128, // a name
  tools:       64, // a glob over names
  mcp_server:  32,
  permission:  16,
  risk:         8,
  person:       3, // the name of a user or a chat
  persons:      1, // a glob over them
} as const;
