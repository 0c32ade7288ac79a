/**
 * Code that runs text which it does not contain: text that it reads, receives as an argument, finds in its environment
 * or builds. The effect of such code cannot be determined from its source.
 */

/** Calls that run text as code of the same language; not a method of another object (`pattern.exec`, `model.eval`). */
const CALLS = new RegExp(
  String.raw`(?:${[
    String.raw`(?<![\w.$@%&\"'${"`"}-]|->)(?:eval|exec|execfile|EVAL|evalin|evalc|create_function)`,
    String.raw`(?<![\w$])(?:globalThis|global|window|builtins|Kernel|binding|TOPLEVEL_BINDING|Eval|engine)\s*\.\s*(?:eval|exec|me)`,
    String.raw`\b(?:instance_eval|class_eval|module_eval|loadstring|include_string|eval_string|eval_file|eval_quoted|load_string|runIn(?:This|New)?Context|compileFunction|vm\.Script|run_path|runsource|runcode|FunctionType|load_source|SourceFileLoader|_compile|GroovyShell\(\)\.evaluate)`,
    String.raw`(?<![\w.$])(?:Async)?(?:Generator)?Function`,
    String.raw`\.constructor(?:\s*\.\s*constructor)?`,
  ].join("|")})\s*\(\s*`,
  "g",
);
/** A literal text. */
const LITERAL = String.raw`[rbu]{0,2}(?:"""(?:[^"\\]|\\.)*"""|"(?:[^"\\\n$#@]|\\.|[$#@](?![\w{(]))*"|'(?:[^'\\\n]|\\.)*'|${"`"}(?:[^${"`"}\\$]|\\.)*${"`"})`;
/** It is a complete argument, or there is none. */
const SPELLED = new RegExp(String.raw`\)|(?:${LITERAL})\s*[,)]`, "y");
/** For a call whose arguments are all code. */
const ALL_SPELLED = new RegExp(String.raw`\)|(?:(?:${LITERAL})\s*,\s*){0,8}(?:${LITERAL})\s*\)`, "y");
/** The name without brackets: `eval STDIN.read`, `map(eval, lines)`, `perl -ne eval`; not blocks, keys and literals. */
const BARE =
  /(?<![\w.$@%&"'-]|->)(?:eval|EVAL)\b(?![\w-]|\s*(?:[({:=]|do\b|""|\w+\s*:))|[(,[=]\s*exec\s*(?:[,)\];\n]|$)/;
/** If a quote is misleading, the text after it still decides. */
const BARE_SOURCE =
  /(?:(?<![\w.$@%&-])(?:eval|EVAL)|\b(?:instance|class|module)_eval)[ \t]{0,8}(?:[$@<*[\\]|(?:STDIN|ARGF|ARGV|ENV|gets|join|shift|readline|File|IO|slurp)\b)/;
/** Ways to make the same calls without naming them. */
const DISGUISED =
  /\b__builtins__\b|\bgetattr\(\s*__?builtins|\b(?:globalThis|global|window|this|self)\s*\[\s*["'`]\w{0,20}["'`]\s*(?:\+|\]\s*\()|["'`]constructor["'`]\s*\]\s*[[(]|\bprocess\s*\.\s*(?:binding|_linkedBinding|dlopen)\s*\(|\bWorker\)?\s*\([^;\n]{0,200}\beval\s*:/;
const CONSOLES =
  /\.\s*interact\s*\(|\bcode\s*\.\s*Interactive\w+|\bInteractive(?:Console|Interpreter)\b|\bfrom\s+code\s+import\b|\b(?:IPython|ptpython|bpython)\s*\.\s*(?:embed|start\w*|repl)|\b(?:pdb|ipdb|pudb)\s*\.\s*(?:set_trace|run\w*|Pdb|post_mortem|pm)\b|\bbreakpoint\s*\(|\bIRB\s*\.\s*(?:start|setup)|\bbinding\s*\.\s*(?:irb|pry|break)\b|\bPry\s*\.\s*(?:start|run)|["'](?:node:)?repl["']|\brepl\s*\.\s*start\b|\bdebug\s*\.\s*debug\s*\(|\bIEx\s*\.\s*pry|\bPsy\\|\brun_main_repl\b|\(\s*(?:repl|read-eval-print-loop|clojure\.main\/repl)\s*\)/;

/** Text from outside the code: standard input and arguments. */
const GIVEN =
  /\bsys\s*\.\s*(?:argv|stdin)\b|\b(?:raw_)?input\s*\(|\bfileinput\b|\bopen\s*\(\s*0\b|\bprocess\s*\.\s*(?:argv|stdin|openStdin)\b|\breadFileSync\s*\(\s*0\b|\bDeno\s*\.\s*(?:args|stdin)\b|\bBun\s*\.\s*(?:argv|stdin)\b|\bARG[VFS]\b|\bSTDIN\b|\$stdin\b|(?<![\w.])gets\b|<>|<<>>|\$<|\bphp:\/\/|\bio\s*\.\s*(?:read|lines|stdin)\b|(?<![\w.])arg\s*\[|\bcommandArgs\b|\breadLines?\b|\breadline\s*\(|(?<![\w.])(?:stdin|argv)\b(?!\s*=)|\bSystem\s*\.\s*(?:argv|in)\b|\bIO\s*\.\s*(?:gets|read)\b|(?<![\w.$>-])shift\b|\bargs\s*[[(]\s*\d|\*(?:in|standard-input|command-line-args)\*|\/dev\/(?:stdin|fd\/)|\/proc\/(?:self|\d+)\/fd\//;
const ENVIRONMENT =
  /\bos\s*\.\s*(?:environ|getenv)\b|\bprocess\s*\.\s*env\b|\bENV\s*[[{.]|\$ENV\{|\bgetenv\b|\bDeno\s*\.\s*env\b/;
/** Calls that run a file or a module. */
const LOADS =
  /(?<![\w.$@%])(?:(?:require|require_once|include|include_once|load|loadfile|dofile|source|import_module|run_module|__import__|import|consult|use)\s*\(\s*|(?:require|require_once|require_relative|include|include_once|load|source|do)\s+(?=["'$]|shift\b|ARGV|ENV|STDIN|<|q\W|\/)|(?:import|from)\s*(?=["'`](?:https?|data|blob):))|\b(?:(?:importlib|imp|runpy|Module|Code)\s*\.\s*(?:import_module|run_module|run_path|require_file)|(?:pickle|cPickle|marshal|dill|Marshal)\s*\.\s*loads?|(?:YAML|yaml)\s*\.\s*unsafe_load)\s*\(\s*|\b_load\s*\(\s*/g;
/** Ways to run a file or text that is named somewhere in their arguments. */
const LOADERS = /\b(?:spec_from_file_location|exec_module|load_source|SourceFileLoader|InstructionSequence)\b/;
const NO_FILE =
  /^(?:(?:file:\/\/)?\/(?:dev|proc)\/|(?:\.\.\/)+(?:dev|proc)\/|(?:https?|data|blob|php|phar|ftp|expect):|stdin$|user$|-$|&)/i;
const FIRST_LITERAL = new RegExp(String.raw`(${LITERAL})\s*(?:[,);}\n]|$)`, "y");
/** At most this much of an argument is examined. */
const MAX_REACH = 300;

/** Flags of a Perl substitution whose result is run (`s/a/b/ee`), if there is one. */
const PERL_FLAGS =
  /[/}|#!,)\]>~:%+][msixpnduaglcro]{0,8}e[msixpnduaglcro]{0,8}e[msixpnduaglcroe]{0,8}\s*(?:[;,)}\]]|$|\b(?:if|for|while)\b)/m;
const PERL_SUBSTITUTES = /\bs\s*[^\w\s;=]/;
/** Code inside a pattern, and a file run by its name. */
const PERL = /\(\?\??\{|\bdo\s+(?:\$|shift\b|<|STDIN)/;
/** Lisp: text that was read, or the value of a name. */
const LISP =
  /\(\s*(?:eval|load|load-string|load-reader|load-file|eval-string|primitive-eval)\s+(?:\(\s*(?!quote\b|list\b)|\*|[a-z])/;
const LUA = /(?<![\w.:])(?:load\s*\(\s*(?!["'[])|(?:dofile|loadfile)\s*\(\s*\))/;

/** Calls through a name or command held in a variable: if the code received it, that may be anything. */
const CALLS_BY_NAME: Readonly<Record<string, RegExp | undefined>> = {
  __proto__: null as never,
  php: /\$\w+(?:\[[^\]\n]{0,80}\])?\s*\(|\b(?:call_user_func\w*|array_map|usort|assert)\s*\(\s*\$/,
  perl: /&\s*\{?\s*\$\w/,
  julia: /\b(?:run|pipeline|open)\s*\(/,
};

/** Only in one language. */
const BY_LANGUAGE: readonly (readonly [language: RegExp, evaluates: RegExp])[] = [
  [/^(?:perl|perl6|raku)$/, PERL],
  [/^(?:emacs|emacsclient|guile|racket|sbcl|clisp|ecl|csi|gosh|clj|clojure|bb|lein-exec|janet|fennel|hy)$/, LISP],
  [/^(?:lua|luajit)$/, LUA],
  [/^julia$/, /\brun\s*\(\s*`\s*\$/],
  [/^groovy$/, /\bevaluate\s*\(\s*(?!["'])/],
  [/^erl$/, /\berl_eval\s*:/],
  [/^(?:swipl|gprolog|yap)$/, /\[\s*user\s*\]|\bread(?:_term)?\s*\(/],
];

/** A clause about code that runs text which it does not contain; undefined if everything it runs is literal. */
export function runsUnknown(code: string, language = ""): string | undefined {
  if (CONSOLES.test(code)) return "the code starts a console, which runs what it reads";
  if (evaluatesUnknown(code, language)) return "the code runs a text that is known only when it runs";
  return loadsGiven(code) ? "the code runs what it reads or is given" : undefined;
}

/** Whether the code uses text from standard input or its arguments. */
export function usesGiven(code: string): boolean {
  return GIVEN.test(code);
}

function evaluatesUnknown(code: string, language: string): boolean {
  if (DISGUISED.test(code) || BARE_SOURCE.test(code)) return true;
  if (/^(?:perl|perl6|raku)$/.test(language) && PERL_SUBSTITUTES.test(code) && PERL_FLAGS.test(code)) return true;
  const byName = CALLS_BY_NAME[language];
  if (byName?.test(code) === true && usesGiven(code)) return true;
  if (BY_LANGUAGE.some(([name, evaluates]) => name.test(language) && evaluates.test(code))) return true;
  for (const { 0: call, index } of code.matchAll(CALLS)) {
    // Node's `exec` starts a program, which is judged by its words.
    if (call.startsWith("exec") && code.includes("child_process")) continue;
    const spelled = call.includes("Function") ? ALL_SPELLED : SPELLED;
    spelled.lastIndex = index + call.length;
    if (!spelled.test(code)) return true;
  }
  if (!/eval|\bexec\b/i.test(code)) return false;
  const plain = code.replace(COMMENTS, "").replace(QUOTED, (text) => (INTERPOLATED.test(text) ? "$" : '""'));
  return BARE.test(code.includes("child_process") ? plain.replace(/\bexec\b/g, "") : plain);
}

const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;
/** `"$x"` and `"#{x}"` contain more than their literal text. */
const INTERPOLATED = /^".*(?:[$@][\w{(]|#\{)/;
const COMMENTS = /^[ \t]*(?:#|\/\/)[^\n]*/gm;

/** A literal file name is treated like one on the command line; standard input, a URL or an argument is not. */
function loadsGiven(code: string): boolean {
  if (LOADERS.test(code) && usesGiven(code)) return true;
  let isGiven: boolean | undefined;
  for (const { 0: call, index } of code.matchAll(LOADS)) {
    const from = index + call.length;
    FIRST_LITERAL.lastIndex = from;
    const literal = FIRST_LITERAL.exec(code)?.[1];
    if (literal !== undefined) {
      if (NO_FILE.test(literal.replace(/^[rbu]*["'`]+|["'`]+$/g, ""))) return true;
      continue;
    }
    if (ENVIRONMENT.test(argumentAt(code, from))) return true;
    if ((isGiven ??= usesGiven(code))) return true;
  }
  return false;
}

function argumentAt(code: string, from: number): string {
  const rest = code.slice(from, from + MAX_REACH);
  const end = rest.search(/[;\n]/);
  return end < 0 ? rest : rest.slice(0, end);
}
