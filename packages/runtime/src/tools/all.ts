import type { Tool } from "../contract/tool.ts";
import { applyPatch } from "./apply-patch.ts";
import { attach } from "./attach.ts";
import { backgroundList, backgroundOutput, backgroundStop } from "./background.ts";
import { bash } from "./bash.ts";
import { deleteFile } from "./delete-file.ts";
import { display } from "./display.ts";
import { edit } from "./edit.ts";
import { find } from "./find.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { networkRequest } from "./network-request.ts";
import { read } from "./read.ts";
import { readSkill } from "./read-skill.ts";
import { runScript } from "./run-script.ts";
import { ARGS_SCHEMAS } from "./schemas.ts";
import { todo } from "./todo.ts";
import { toolSearch } from "./tool-search.ts";
import { updateMemory } from "./update-memory.ts";
import { undo } from "./undo.ts";
import { write } from "./write.ts";

/** The order in which they are offered to a model, as far as the budget of its first request allows. */
const TOOLS: readonly Tool[] = [
  ls,
  find,
  grep,
  read,
  write,
  edit,
  applyPatch,
  deleteFile,
  bash,
  display,
  todo,
  backgroundOutput,
  backgroundStop,
  backgroundList,
  readSkill,
  runScript,
  networkRequest,
  updateMemory,
  attach,
  toolSearch,
  undo,
];

/** The built-in tools. Their schemas are built in advance: that takes longer than the rest of a start. */
export const BUILT_IN: readonly Tool[] = TOOLS.map((tool) => {
  const made = ARGS_SCHEMAS[tool.name];
  return made === undefined ? tool : Object.defineProperty(tool, "args_schema", { value: made, enumerable: true });
});

/** Whether a built-in tool has this name or alias. */
export function isBuiltInTool(name: string): boolean {
  return BUILT_IN.some((tool) => tool.name === name || tool.aliases.some((alias) => alias.name === name));
}
