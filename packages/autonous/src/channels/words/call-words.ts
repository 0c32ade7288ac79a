import { makeVisible } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { argumentsOf, callWords } from "./event-words.ts";

/** An argument as text on one line; empty if the call lacks it. */
type Argument = (name: string) => string;

interface Words {
  /** What a running call does: "Reading src/app.ts". */
  readonly doing: (argument: Argument) => string;
  /** What a call would do, after "The agent wants to". */
  readonly wanted: (argument: Argument) => string;
}

const place = (argument: Argument): string => {
  const path = argument("path");
  return path === "" || path === "." ? "the workspace" : path;
};
const below = (argument: Argument): string => (place(argument) === "the workspace" ? "" : ` in ${place(argument)}`);
const host = (argument: Argument): string => URL.parse(argument("url"))?.host ?? argument("url");
const method = (argument: Argument): string => argument("method") || "GET";
const memory = (argument: Argument): string =>
  argument("title") || argument("existing_knowledge_id") || argument("query");

/** Descriptions of the built-in tools for users. Tools of modules are shown by name. */
// oxfmt-ignore
const WORDS: Readonly<Record<string, Words>> = {
  ls:                { doing: (a) => `Listing ${place(a)}`,                               wanted: (a) => `list ${place(a)}` },
  find:              { doing: (a) => `Looking for files "${a("name_pattern")}"${below(a)}`, wanted: (a) => `look for files "${a("name_pattern")}"${below(a)}` },
  grep:              { doing: (a) => `Searching for "${a("pattern")}"${below(a)}`,        wanted: (a) => `search for "${a("pattern")}"${below(a)}` },
  read:              { doing: (a) => `Reading ${a("path")}`,                              wanted: (a) => `read ${a("path")}` },
  write:             { doing: (a) => `Writing ${a("path")}`,                              wanted: (a) => `write ${a("path")}` },
  edit:              { doing: (a) => `Editing ${a("path")}`,                              wanted: (a) => `edit ${a("path")}` },
  apply_patch:       { doing: () => "Applying a patch",                                   wanted: () => "apply a patch" },
  delete_file:       { doing: (a) => `Deleting ${a("path")}`,                             wanted: (a) => `delete ${a("path")}` },
  bash:              { doing: (a) => `Running: ${a("cmd")}`,                              wanted: () => "run a command" },
  display:           { doing: () => "Showing a message",                                  wanted: () => "show a message" },
  todo:              { doing: () => "Updating the list of steps",                         wanted: () => "update the list of steps" },
  background_output: { doing: (a) => `Reading the output of ${a("background_id")}`,       wanted: (a) => `read the output of ${a("background_id")}` },
  background_stop:   { doing: (a) => `Stopping ${a("background_id")}`,                    wanted: (a) => `stop the background command ${a("background_id")}` },
  background_list:   { doing: () => "Listing background commands",                        wanted: () => "list background commands" },
  read_skill:        { doing: (a) => `Reading the skill ${a("name")}`,                    wanted: (a) => `read the skill ${a("name")}` },
  run_script:        { doing: (a) => `Running ${a("relative_path")} of the skill ${a("skill")}`, wanted: (a) => `run ${a("relative_path")} of the skill ${a("skill")}` },
  network_request:   { doing: (a) => `Requesting ${host(a)}`,                             wanted: (a) => `send a ${method(a)} request to ${host(a)}` },
  update_memory:     { doing: (a) => `Memory: ${a("action")} ${memory(a)}`.trimEnd(),     wanted: (a) => `${a("action")} a memory entry: ${memory(a)}` },
  attach:            { doing: (a) => `Sending ${a("path")}`,                              wanted: (a) => `send the file ${a("path")}` },
  receive_file:      { doing: (a) => `Storing ${a("path")}`,                              wanted: (a) => `store the received file "${a("name")}" as ${a("path")}` },
  tool_search:       { doing: (a) => `Looking for a tool: ${a("query")}`,                 wanted: (a) => `look for a tool: ${a("query")}` },
  undo:              { doing: () => "Undoing changes",                                    wanted: () => "undo file changes" },
};

const MAX_ARGUMENT = 200;

function argumentReader(given: Readonly<Record<string, unknown>>): Argument {
  return (name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (typeof value !== "string") return "";
    const line = makeVisible(value.trim().replaceAll(/\s+/g, " "));
    return line.length <= MAX_ARGUMENT ? line : `${line.slice(0, MAX_ARGUMENT).toWellFormed()}…`;
  };
}

function wordsOf(tool: string): Words | undefined {
  return Object.hasOwn(WORDS, tool) ? WORDS[tool] : undefined;
}

/** What a call does, from its `tool_call.started`: `Running: npm test`, `Reading src/app.ts`. On one line. */
export function activityOf(payload: RuntimeEvent["payload"]): string {
  const words = wordsOf(String(payload["tool_name"]));
  if (words === undefined) return makeVisible(`Using ${callWords(payload)}`);
  return words.doing(argumentReader(argumentsOf(payload)));
}

/** What a call would do, as the end of "The agent wants to …". On one line. */
export function wantedOf(tool: string, params: unknown): string {
  const words = wordsOf(tool);
  if (words === undefined) return makeVisible(`use the tool "${tool}"`);
  return words.wanted(argumentReader(Object(params) as Readonly<Record<string, unknown>>));
}
