/**
 * What each condition adds to how specific a rule is. Each outweighs all below it together, so the most telling
 * condition decides and further ones only refine; of two paths the one with more literal characters is closer.
 */
// oxfmt-ignore
export const WEIGHTS = {
  character:  128, // for each literal character of a path, command or domain; a path is counted from "/"
  close:      128, // a path, command or domain
  tool:        64, // a name
  tools:       32, // a glob over names
  mcp_server:  16,
  permission:   8,
  risk:         4,
  user:         1,
  chat:         1,
} as const;
