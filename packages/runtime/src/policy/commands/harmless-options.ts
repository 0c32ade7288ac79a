/**
 * Options that change what a program prints, never what it does or to what. They may differ between the approved
 * command and another one that the approval covers. Short options may be combined (`-nv`). A name that ends with "="
 * takes a number, attached or as the next word; with "=?" it takes a value that counts only if attached. A row is for a
 * program, or for a program with a subcommand.
 */
interface HarmlessRow {
  readonly run: string;
  readonly options: string;
}

// oxfmt-ignore
const ROWS: readonly HarmlessRow[] = [
  { run: "cat|nl|tac",                              options: "-n -b -s -E -T -A -v" },
  { run: "head|tail",                               options: "-n= -c= --lines= --bytes= -q -v" },
  { run: "wc",                                      options: "-l -w -c -m -L" },
  { run: "ls|dir",                                  options: "-l -a -A -h -1 -t -r -S -F -d -i -n -s -p --color=? --full-time" },
  { run: "stat|file|readlink|realpath",             options: "-b -i" },
  { run: "du|df",                                   options: "-h -s -a -c -k -m" },
  { run: "grep|egrep|fgrep",                        options: "-n -i -l -L -c -v -w -x -o -h -H -s -q -r -E -F -A= -B= -C= -m= --color=? --line-number --ignore-case --count" },
  { run: "diff|cmp|comm",                           options: "-u -q -w -b -B -y -s --color=?" },
  { run: "curl",                                    options: "-s -S -v -i -I -f --silent --show-error --verbose --include --head --fail --compressed --max-time= --connect-timeout= -m=" },
  { run: "wget",                                    options: "-q -v -nv --quiet --no-verbose" },
  { run: "mkdir|cp",                                options: "-v" },
  { run: "git status|git log|git diff|git show",    options: "-s -b -p --short --stat --oneline --porcelain --name-only --name-status --graph --decorate -n= --max-count=" },
  { run: "git push|git pull|git fetch|git commit|git merge|git clone", options: "-q -v --quiet --verbose --progress --no-progress --porcelain" },
  { run: "npm run|npm test|npm ci|npm install|npm publish|npm audit", options: "-s --silent --no-color --no-progress --loglevel=?" },
  { run: "cargo build|cargo check",                  options: "-q -v --quiet --verbose --color=?" },
  { run: "go build|go test|go vet",                 options: "-v" },
  { run: "pytest|mypy|ruff|black|flake8",           options: "-q -v --quiet --verbose --no-header --color=?" },
  { run: "eslint|prettier|tsc|jest|vitest|mocha|oxlint|biome", options: "--quiet --silent --verbose --color --no-color" },
  { run: "make",                                    options: "-s --silent --quiet" },
];

interface Harmless {
  /** Letters of short options without a value. */
  readonly letters: ReadonlySet<string>;
  /** Names of options without a value. */
  readonly plain: ReadonlySet<string>;
  /** Names of options with a number. */
  readonly valued: ReadonlySet<string>;
  /** Names of options with a word after "=". */
  readonly attached: ReadonlySet<string>;
}

const table = new Map<string, Harmless>();
for (const { run, options } of ROWS) {
  const names = options.split(" ");
  const plain = new Set(names.filter((name) => !name.includes("=")));
  const valued = new Set(names.filter((name) => name.endsWith("=")).map((name) => name.slice(0, -1)));
  const attached = new Set(names.filter((name) => name.endsWith("=?")).map((name) => name.slice(0, -2)));
  const letters = new Set([...plain].filter((name) => /^-[^-]$/.test(name)).map((name) => name.slice(1)));
  for (const name of run.split("|")) table.set(name, { letters, plain, valued, attached });
}

const NUMBER = /^\+?\d+[a-zA-Z]?$/;

/** Number of words of a harmless option, including its value; 0 if the word is not known to be one. */
export function harmlessWords(
  [word, next = ""]: readonly [string, string | undefined],
  [program, subcommand]: readonly [string, string],
): 0 | 1 | 2 {
  const row = table.get(`${program} ${subcommand}`) ?? table.get(program);
  if (row === undefined) return 0;
  if (row.plain.has(word)) return 1;
  if (row.valued.has(word)) return NUMBER.test(next) ? 2 : 0;
  const [name = "", value] = word.split(/=(.*)/s);
  if (word.startsWith("--")) {
    if (value === undefined) return 0;
    return (row.valued.has(name) && NUMBER.test(value)) || (row.attached.has(name) && /^[a-z]+$/.test(value)) ? 1 : 0;
  }
  if (/^-[A-Za-z]\d+$/.test(word) && row.valued.has(word.slice(0, 2))) return 1;
  return /^-[A-Za-z0-9]+$/.test(word) && Array.from(word.slice(1)).every((letter) => row.letters.has(letter)) ? 1 : 0;
}
