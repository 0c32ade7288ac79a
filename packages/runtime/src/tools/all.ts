import type { Tool } from "../contract/tool.ts";
import { ls } from "./ls.ts";

/** The built-in tools. */
export const BUILT_IN: readonly Tool[] = [ls];
