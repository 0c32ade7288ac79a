import type { Command, Parameter } from "../command.ts";
import { GROUPS, optionsOf } from "../help.ts";
import { inSingleQuotes } from "@autonous/runtime/internal";

/** The words that can follow a command or group. */
interface Place {
  /** `` for the program itself, `policy` for a group, `policy explain` for a command. */
  readonly name: string;
  readonly offers: readonly Offer[];
  /** Files and folders can follow too. */
  readonly takesFiles?: boolean;
}

interface Offer {
  readonly word: string;
  readonly meaning: string;
}

/** The values that can follow an option. */
interface Value {
  readonly place: string;
  readonly flag: string;
  readonly kind: "choices" | "folder" | "file" | "any";
  readonly choices: readonly string[];
}

/** Everything that a shell can complete, read from the table of commands. */
export interface CompletionTable {
  readonly places: readonly Place[];
  readonly values: readonly Value[];
}

const HELP: Offer = { word: "--help", meaning: "show help" };
const VERSION: Offer = { word: "--version", meaning: "show the version" };
const JSON_OFFER: Offer = { word: "--json", meaning: "one JSON document on stdout" };

export function completionTable(commands: readonly Command[]): CompletionTable {
  const groups = new Map<string, Offer[]>([["", []]]);
  for (const { name, summary } of commands) {
    const words = name.split(" ");
    for (const [depth, word] of words.entries()) {
      const group = words.slice(0, depth).join(" ");
      const offers = groups.get(group) ?? [];
      groups.set(group, offers);
      const meaning = depth === words.length - 1 ? summary : (GROUPS[words.slice(0, depth + 1).join(" ")] ?? "");
      if (!offers.some((offer) => offer.word === word)) offers.push({ word, meaning });
    }
  }
  const ofGroups = [...groups].map(([name, offers]): Place => {
    const more = name === "" ? [JSON_OFFER, VERSION, HELP] : [HELP];
    return { name, offers: [...offers, ...more] };
  });
  return {
    places: [...ofGroups, ...commands.map(placeOf)],
    values: commands.flatMap((command) => optionsOf(command).flatMap((option) => valueOf(command.name, option))),
  };
}

function placeOf(command: Command): Place {
  const choices = (command.args ?? []).flatMap(({ choices: words = [], meaning }) =>
    words.map((word) => ({ word, meaning })),
  );
  const flags = optionsOf(command).flatMap(({ name, short, meaning }) => {
    const [flag = ""] = name.split(" ");
    return [flag, ...(short === undefined ? [] : [short])].map((word) => ({ word, meaning }));
  });
  const takesFiles = (command.args ?? []).some(({ name }) => /file|folder|path|backup/.test(name));
  return { name: command.name, offers: [...choices, ...flags, HELP], takesFiles };
}

const KINDS: Readonly<Record<string, Value["kind"]>> = { "<folder>": "folder", "<file>": "file" };

function valueOf(place: string, { name, choices = [] }: Parameter): readonly Value[] {
  const [flag = "", value] = name.split(" ");
  if (value === undefined) return [];
  return [{ place, flag, choices, kind: choices.length > 0 ? "choices" : (KINDS[value] ?? "any") }];
}

/** The words of commands and groups, for the part of a script that detects which one was typed. */
function namesOf({ places }: CompletionTable): readonly string[] {
  return places.map(({ name }) => name).filter((name) => name !== "");
}

/** Options with the same values share one line of a script. */
function grouped(values: readonly Value[]): readonly { readonly patterns: readonly string[]; readonly value: Value }[] {
  const groups = new Map<string, { patterns: string[]; value: Value }>();
  for (const value of values) {
    const key = `${value.kind} ${value.choices.join(" ")}`;
    const group = groups.get(key) ?? { patterns: [], value };
    group.patterns.push(inSingleQuotes(`${value.place} ${value.flag}`));
    groups.set(key, group);
  }
  return [...groups.values()];
}

const BASH_VALUES: Readonly<Record<Value["kind"], (choices: readonly string[]) => string>> = {
  choices: (choices) => `mapfile -t COMPREPLY < <(compgen -W ${inSingleQuotes(choices.join(" "))} -- "$cur")`,
  folder: () => `mapfile -t COMPREPLY < <(compgen -d -- "$cur")`,
  file: () => `mapfile -t COMPREPLY < <(compgen -f -- "$cur")`,
  any: () => "COMPREPLY=()",
};

export function bashScript(table: CompletionTable): string {
  const values = grouped(table.values).map(
    ({ patterns, value }) => `    ${patterns.join("|")})\n      ${BASH_VALUES[value.kind](value.choices)}; return ;;`,
  );
  const places = table.places.map(
    ({ name, offers }) =>
      `    ${inSingleQuotes(name)}) words=${inSingleQuotes(offers.map(({ word }) => word).join(" "))} ;;`,
  );
  return `# Completion of autonous for bash. Made by "autonous completion bash".
_autonous() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} name= words= i
  # bash splits "--flag=value" at the "=".
  if [[ $cur == = ]]; then cur=
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -* ]] && continue
    case "\${name:+$name }\${COMP_WORDS[i]}" in
      ${namesOf(table).map(inSingleQuotes).join("|")})
        name="\${name:+$name }\${COMP_WORDS[i]}" ;;
      *) break ;;
    esac
  done
  case "$name $prev" in
${values.join("\n")}
  esac
  case "$name" in
${places.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o bashdefault -o default -F _autonous autonous
`;
}

const ZSH_VALUES: Readonly<Record<Value["kind"], (choices: readonly string[]) => string>> = {
  choices: (choices) => `compadd -- ${choices.join(" ")}`,
  folder: () => "_files -/",
  file: () => "_files",
  any: () => "_message value",
};

export function zshScript(table: CompletionTable): string {
  const values = grouped(table.values).map(
    ({ patterns, value }) => `    (${patterns.join("|")}) ${ZSH_VALUES[value.kind](value.choices)}; return ;;`,
  );
  const offer = ({ word, meaning }: Offer): string => inSingleQuotes(`${word}:${meaning.replaceAll(":", "\\:")}`);
  const places = table.places.map(
    ({ name, offers }) => `    (${inSingleQuotes(name)}) offers=(${offers.map(offer).join(" ")}) ;;`,
  );
  return `#compdef autonous
# Completion of autonous for zsh. Made by "autonous completion zsh".
_autonous() {
  local name= i
  local -a offers
  for ((i = 2; i < CURRENT; i++)); do
    [[ \${words[i]} == -* ]] && continue
    case "\${name:+$name }\${words[i]}" in
      (${namesOf(table).map(inSingleQuotes).join("|")}) name="\${name:+$name }\${words[i]}" ;;
      (*) break ;;
    esac
  done
  case "$name \${words[CURRENT - 1]}" in
${values.join("\n")}
  esac
  case "$name" in
${places.join("\n")}
  esac
  _describe autonous offers || _files
}
if [[ $funcstack[1] == _autonous ]]; then _autonous "$@"; else compdef _autonous autonous; fi
`;
}

const FISH_VALUES: Readonly<Record<Value["kind"], (choices: readonly string[]) => string>> = {
  choices: (choices) => ` -x -a ${fishQuoted(choices.join(" "))}`,
  folder: () => " -x -a '(__fish_complete_directories)'",
  file: () => " -r -F",
  any: () => " -x",
};

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function fishScript(table: CompletionTable): string {
  const valued = new Map(table.values.map((value) => [`${value.place} ${value.flag}`, value]));
  const isAt = (name: string): string => fishQuoted(`__autonous_at ${fishQuoted(name)}`);
  const files = table.places.flatMap(({ name, takesFiles }) =>
    takesFiles === true ? [`complete -c autonous -n ${isAt(name)} -F`] : [],
  );
  const lines = table.places.flatMap(({ name, offers }) =>
    offers.map(({ word, meaning }) => {
      const value = valued.get(`${name} ${word}`);
      const takes = value === undefined ? "" : FISH_VALUES[value.kind](value.choices);
      const what = word.startsWith("--")
        ? `-l ${word.slice(2)}`
        : word.startsWith("-")
          ? `-s ${word.slice(1)}`
          : `-a ${word}`;
      return `complete -c autonous -n ${isAt(name)} ${what}${takes} -d ${fishQuoted(meaning)}`;
    }),
  );
  return `# Completion of autonous for fish. Made by "autonous completion fish".
function __autonous_at
    set -l names ${namesOf(table).map(fishQuoted).join(" ")}
    set -l words (commandline -opc)
    set -l name ''
    for word in $words[2..-1]
        string match -q -- '-*' $word; and continue
        set -l longer (string trim -- "$name $word")
        contains -- $longer $names; or break
        set name $longer
    end
    test "$name" = "$argv[1]"
end
complete -c autonous -f
${[...files, ...lines].join("\n")}
`;
}
