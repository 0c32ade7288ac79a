/** Every tool, asked for by a message in a chat: its good and bad cases, what the person sees, and what is on record. */
import type { ErrorCode } from "@autonous/runtime";

export interface Case {
  readonly tool: string;
  readonly title: string;
  /** `%` is the case's own folder in the workspace. */
  readonly text: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly press?: string;
  readonly answer: RegExp;
  /** Of what failed. */
  readonly code?: ErrorCode;
  /** It was refused before it could begin. */
  readonly refused?: true;
  /** How many calls become of it (1). */
  readonly calls?: number;
  readonly completed?: object;
  /** What the files have to be afterwards; null: not there. */
  readonly after?: Readonly<Record<string, string | null>>;
}

const MANY = Object.fromEntries(
  Array.from({ length: 70 }, (_, index) => [`many/${String(index).padStart(3, "0")}.txt`, "x"]),
);
const LINES = Array.from({ length: 120 }, (_, index) => `line ${index + 1} TODO`).join("\n");
export const SECRET = "AKIAIOSFODNN7EXAMPLE";

// oxfmt-ignore
export const CASES: readonly Case[] = [
  { tool: "ls", title: "lists a folder",                  text: "/ls %", files: { "b.txt": "", "a/x": "" }, answer: /^a\/\nb\.txt$/ },
  { tool: "ls", title: "goes down",                       text: '/ls {"path":"%","recursive":true}', files: { "a/x": "", "b": "" }, answer: /a\/\na\/x\nb/ },
  { tool: "ls", title: "gives a page, and says how to go on", text: '/ls {"path":"%","limit":1}', files: { a: "", b: "" }, answer: /^a\nMore results: \/ls \{.*"cursor":"/ },
  { tool: "ls", title: "cuts what is too much",           text: "/ls %/many", files: MANY, answer: /More results: \/ls/ },
  { tool: "ls", title: "of what is not there",            text: "/ls %/none", answer: /^NotFound: /, code: "NotFound" },
  { tool: "ls", title: "outside of the workspace",        text: "/ls /etc", answer: /^PathTraversalBlocked: /, code: "PathTraversalBlocked", refused: true },
  { tool: "ls", title: "with an argument that is none",   text: '/ls {"path":"%","colour":1}', answer: /^InvalidArguments: .*colour/, code: "InvalidArguments", refused: true },

  { tool: "find", title: "finds by a pattern",            text: '/find {"path":"%","name_pattern":"*.ts"}', files: { "a.ts": "", "s/b.ts": "", "c.js": "" }, answer: /a\.ts\n.*s\/b\.ts$/ },
  { tool: "find", title: "keeps to a depth",              text: '/find {"path":"%","name_pattern":"*.ts","max_depth":1}', files: { "a.ts": "", "s/b.ts": "" }, answer: /^[^\n]*a\.ts$/ },
  { tool: "find", title: "keeps to a limit",              text: '/find {"path":"%","name_pattern":"*.txt","limit":2}', files: MANY, answer: /More results/ },
  { tool: "find", title: "finds nothing",                 text: '/find {"path":"%","name_pattern":"*.none"}', files: { a: "" }, answer: /^Nothing found$/ },
  { tool: "find", title: "with a depth that is none",     text: '/find {"path":"%","name_pattern":"*","max_depth":"deep"}', answer: /^InvalidArguments: .*max_depth/, code: "InvalidArguments", refused: true },

  { tool: "grep", title: "finds lines",                   text: '/grep {"path":"%","pattern":"TODO"}', files: { "a.ts": "x\n// TODO: y\n" }, answer: /a\.ts:2:\/\/ TODO: y$/ },
  { tool: "grep", title: "finds nothing",                 text: '/grep {"path":"%","pattern":"NOWHERE"}', files: { a: "x" }, answer: /No match/ },
  { tool: "grep", title: "cuts what is too much",         text: '/grep {"path":"%","pattern":"TODO"}', files: { "a.txt": LINES }, answer: /More results/ },
  { tool: "grep", title: "with a pattern that is none",   text: '/grep {"path":"%","pattern":"("}', files: { a: "x" }, answer: /^InvalidArguments: /, code: "InvalidArguments" },
  { tool: "grep", title: "without a pattern",             text: "/grep", answer: /^\/grep needs pattern/, calls: 0 },

  { tool: "read", title: "reads a file",                  text: "/read %/a.txt", files: { "a.txt": "one\ntwo\n" }, answer: /^one\ntwo$/ },
  { tool: "read", title: "reads some lines",              text: '/read {"path":"%/a.txt","offset":2,"limit":1}', files: { "a.txt": "one\ntwo\nthree\n" }, answer: /^two\nMore results/ },
  { tool: "read", title: "reads some bytes",              text: '/read {"path":"%/a.txt","offset_bytes":4,"limit_bytes":3}', files: { "a.txt": "one\ntwo\nthree\n" }, answer: /^two/ },
  { tool: "read", title: "cuts what is too much",         text: "/read %/a.txt", files: { "a.txt": LINES }, answer: /More results/ },
  { tool: "read", title: "replaces secrets",              text: "/read %/a.txt", files: { "a.txt": `key = ${SECRET}\n` }, answer: /^key = \*\*\*REDACTED\*\*\*$/ },
  { tool: "read", title: "of what is not there",          text: "/read %/none", answer: /^NotFound: /, code: "NotFound" },
  { tool: "read", title: "by a way out",                  text: "/read %/../../../etc/passwd", answer: /^PathTraversalBlocked: /, code: "PathTraversalBlocked", refused: true },

  { tool: "write", title: "writes a file, which is read back", text: '/write {"path":"%/n/a.txt","content":"one\\n"}\n/read %/n/a.txt', answer: /\/read [^]*\none$/, calls: 2, after: { "n/a.txt": "one\n" } },
  { tool: "write", title: "writes over one",              text: '/write {"path":"%/a.txt","content":"new"}', files: { "a.txt": "old" }, answer: /^Wrote .*\(3 bytes\)\nChanged: .*a\.txt \(undo_id: undo_\w+\)$/, after: { "a.txt": "new" } },
  { tool: "write", title: "adds at the end",              text: '/write {"path":"%/a.txt","content":"two","mode":"append"}', files: { "a.txt": "one\n" }, answer: /^Appended to .*\(3 bytes, now 7\)\nChanged: /, after: { "a.txt": "one\ntwo" } },
  { tool: "write", title: "what is there, when it is to be new", text: '/write {"path":"%/a.txt","content":"new","mode":"create"}', files: { "a.txt": "old" }, answer: /^AlreadyExists: /, code: "AlreadyExists", after: { "a.txt": "old" } },
  { tool: "write", title: "outside of the workspace",     text: '/write {"path":"/tmp/out-of-it.txt","content":"x"}', answer: /^PathTraversalBlocked: /, code: "PathTraversalBlocked", refused: true },

  { tool: "edit", title: "replaces once",                 text: '/edit {"path":"%/a.txt","find":"one","replace":"two"}', files: { "a.txt": "one three" }, answer: /^-one three$[^]*^\+two three$/m, after: { "a.txt": "two three" } },
  { tool: "edit", title: "replaces all",                  text: '/edit {"path":"%/a.txt","find":"x","replace":"y","all":true}', files: { "a.txt": "x x x" }, answer: /^-x x x$[^]*^\+y y y$/m, after: { "a.txt": "y y y" } },
  { tool: "edit", title: "what is there twice",           text: '/edit {"path":"%/a.txt","find":"x","replace":"y"}', files: { "a.txt": "x\nx\n" }, answer: /^AmbiguousMatch: /, code: "AmbiguousMatch", after: { "a.txt": "x\nx\n" } },
  { tool: "edit", title: "what is not there",             text: '/edit {"path":"%/a.txt","find":"z","replace":"y"}', files: { "a.txt": "x\n" }, answer: /^NoMatch: /, code: "NoMatch", after: { "a.txt": "x\n" } },

  { tool: "apply_patch", title: "changes what it says",   text: '/apply_patch {"patch_text":"*** Begin Patch\\n*** Update File: %/a.txt\\n@@\\n-one\\n+two\\n*** Add File: %/b.txt\\n+new\\n*** End Patch"}', files: { "a.txt": "one\n" }, answer: /b\.txt/, after: { "a.txt": "two\n", "b.txt": "new\n" } },
  { tool: "apply_patch", title: "that does not fit",      text: '/apply_patch {"patch_text":"*** Begin Patch\\n*** Update File: %/a.txt\\n@@\\n-zero\\n+two\\n*** End Patch"}', files: { "a.txt": "one\n" }, answer: /^PatchConflict: /, code: "PatchConflict", after: { "a.txt": "one\n" } },
  { tool: "apply_patch", title: "that is none",           text: '/apply_patch {"patch_text":"nonsense"}', answer: /^InvalidArguments: /, code: "InvalidArguments", refused: true },

  { tool: "delete_file", title: "deletes when a person agrees", text: "/delete_file %/a.txt", press: "Allow once", files: { "a.txt": "x" }, answer: /^Deleted /, after: { "a.txt": null } },
  { tool: "delete_file", title: "when a person does not agree", text: "/delete_file %/a.txt", press: "Deny", files: { "a.txt": "x" }, answer: /^ApprovalDenied: /, code: "ApprovalDenied", refused: true, after: { "a.txt": "x" } },
  { tool: "delete_file", title: "what is not there",      text: "/delete_file %/none", answer: /^NotFound: /, code: "NotFound", refused: true },

  { tool: "bash", title: "runs a command",                text: '/bash {"cmd":"pwd; echo \\"$((1+1))\\"; echo oops >&2","workdir":"%"}', files: { a: "" }, answer: /c\d+\n2\noops$/, completed: { exit_code: 0 } },
  { tool: "bash", title: "that fails",                    text: "/bash echo half; exit 3", answer: /^half\nExitNonZero: /, code: "ExitNonZero" },
  { tool: "bash", title: "that takes too long",           text: '/bash {"cmd":"echo begun; sleep 60","timeout_seconds":0.5}', answer: /Timeout: /, code: "Timeout" },
  { tool: "bash", title: "that is on the list of the denied", text: "/bash git push origin main", answer: /^CommandDenied: /, code: "CommandDenied", refused: true },
  { tool: "bash", title: "that is plainly destructive",   text: "/bash rm -rf /", answer: /^CommandDenied: /, code: "CommandDenied", refused: true },
  { tool: "bash", title: "cuts what is too much",         text: "/bash seq 1 500", answer: /^1\n[^]*500[^]*Full output: observations\//, completed: { truncated_lines: true } },
  { tool: "bash", title: "with the network, when a person does not agree", text: '/bash {"cmd":"curl example.com","network":true}', press: "Deny", answer: /^ApprovalDenied: /, code: "ApprovalDenied", refused: true },
  { tool: "bash", title: "has no network by itself",      text: "/bash cat /proc/net/dev | grep -c :", answer: /^1$/ },

  { tool: "background_output", title: "of what was never begun", text: "/background_output bg_none", answer: /^NotFound: /, code: "NotFound" },
  { tool: "background_stop", title: "of what was never begun", text: "/background_stop bg_none", answer: /^NotFound: /, code: "NotFound" },
  { tool: "background_list", title: "tells that there is none", text: "/background_list", answer: /^Nothing found$/ },

  { tool: "read_skill", title: "gives the text of a skill", text: "/read_skill kit", answer: /^scripts: scripts\/hello\.sh\nRun scripts\/hello\.sh$/ },
  { tool: "read_skill", title: "of none",                   text: "/read_skill nope", answer: /^NotFound: .*nope/, code: "NotFound" },
  { tool: "run_script", title: "runs a script of a skill", text: '/run_script {"skill":"kit","relative_path":"scripts/hello.sh","args":["you","0"]}', answer: /^hello you/, completed: { exit_code: 0 } },
  { tool: "run_script", title: "that fails",              text: '/run_script {"skill":"kit","relative_path":"scripts/hello.sh","args":["you","4"]}', answer: /^hello you\nExitNonZero: /, code: "ExitNonZero" },
  { tool: "run_script", title: "of no skill",             text: '/run_script {"skill":"none","relative_path":"scripts/hello.sh"}', answer: /^NotFound: /, code: "NotFound" },

  { tool: "network_request", title: "asks when a person agrees", text: "/network_request $PAGE/", press: "Allow once", answer: /# Title\s+Some \*\*text\*\*/ },
  { tool: "network_request", title: "gives an answer of any status", text: "/network_request $PAGE/gone", press: "Allow once", answer: /Title/ },
  { tool: "network_request", title: "to a host that is not on the list", text: "/network_request https://example.com/", answer: /^NetworkDenied: .*example\.com/, code: "NetworkDenied", refused: true },

  { tool: "update_memory", title: "keeps something",      text: '/update_memory {"action":"create","title":"Port","knowledge_to_store":"It is 8080"}', answer: /Port/ },
  { tool: "update_memory", title: "of what is not kept",  text: '/update_memory {"action":"delete","existing_knowledge_id":"mem_none"}', answer: /^NotFound: /, code: "NotFound" },
  { tool: "update_memory", title: "without what it needs", text: '/update_memory {"action":"create","title":"Port"}', answer: /^InvalidArguments: .*knowledge_to_store/, code: "InvalidArguments", refused: true },

  { tool: "display", title: "shows something",            text: "/display half way", answer: /^shown$/ },
  { tool: "display", title: "of nothing",                 text: '/display {"content":""}', answer: /^InvalidArguments: .*content/, code: "InvalidArguments", refused: true },

  { tool: "todo", title: "sets and ticks steps",          text: '/todo {"set":["one","two"],"tick":[1]}', answer: /^\[x\] 1\. one\n\[ \] 2\. two$/ },
  { tool: "todo", title: "of a step that is not there",   text: '/todo {"set":["one"],"tick":[2]}', answer: /^InvalidArguments: Cannot tick step 2/, code: "InvalidArguments" },

  { tool: "attach", title: "sends a file",                text: "/attach %/a.txt", files: { "a.txt": "content" }, answer: /a\.txt/ },
  { tool: "attach", title: "of what is not there",        text: "/attach %/none", answer: /^NotFound: /, code: "NotFound" },
  { tool: "attach", title: "of a sensitive place",        text: "/attach %/.ssh/id_rsa", files: { ".ssh/id_rsa": "k" }, answer: /^SensitivePath: /, code: "SensitivePath", refused: true },

  { tool: "tool_search", title: "is not a command without a model", text: "/tool_search run a command", answer: /^Unknown command \/tool_search/, calls: 0 },

];
