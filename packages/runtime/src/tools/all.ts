import type { Tool } from "../contract/tool.ts";
import { applyPatch } from "./apply-patch.ts";
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
import { runScript } from "./run-script.ts";
import { toolSearch } from "./tool-search.ts";
import { undo } from "./undo.ts";
import { write } from "./write.ts";

/** The built-in tools, in the order of spec 2. */
export const BUILT_IN: readonly Tool[] = [
  ls,
  find,
  grep,
  read,
  write,
  edit,
  applyPatch,
  deleteFile,
  bash,
  backgroundOutput,
  backgroundStop,
  backgroundList,
  runScript,
  networkRequest,
  display,
  toolSearch,
  undo,
];
