/** The kinds of tasks that a campaign has done, and the calls they consist of. */

export interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** By which what a call does is told from what any other does. */
interface Mark {
  /** Left in a file or in the store, once for each time that the call takes effect. */
  readonly id: string;
  readonly chat: string;
  readonly task: string;
  /** Of the task, from 1. */
  readonly round: number;
}

function bash(cmd: string): Call {
  return { name: "bash", arguments: { cmd } };
}

// oxfmt-ignore
const CALLS = {
  look:   () => ({ name: "ls", arguments: { path: "." } }),
  read:   ({ round }) => ({ name: "read", arguments: { path: "a.txt", offset: round } }),
  note:   ({ id, chat }) => bash(`echo ${id} >> notes/${chat}`),
  slow:   ({ id, chat }) => bash(`echo ${id} >> notes/${chat}; sleep 0.15`),
  litter: ({ id, chat }) => bash(`(sleep 61 &); nohup sleep 62 > /dev/null 2>&1 & echo ${id} >> notes/${chat}; sleep 0.05`),
  write:  ({ id }) => ({ name: "write", arguments: { path: `written/${id}`, content: `${id}\n` } }),
  append: ({ id, chat }) => ({ name: "write", arguments: { path: `appended/${chat}`, content: `${id}\n`, mode: "append" } }),
  ask:    ({ id, chat }) => bash(`echo ${id} | tee -a notes/${chat}`),
  attach: ({ id }) => ({ name: "attach", arguments: { path: "b.txt", caption: id } }),
  learn:  ({ id }) => ({ name: "update_memory", arguments: { action: "create", title: id, knowledge_to_store: "It is so." } }),
  remove: ({ task }) => ({ name: "delete_file", arguments: { path: `doomed/${task}` } }),
} as const satisfies Record<string, (mark: Mark) => Call>;

type CallName = keyof typeof CALLS;

interface KindRow {
  readonly often: number;
  readonly rounds: readonly (readonly CallName[])[];
  /** What a person says to its calls that ask. */
  readonly answer?: "grant" | "deny";
  /** `stop`: a person stops it on the way. `retry`: its model refuses after the last round, until a person says try again. */
  readonly fate?: "stop" | "retry";
  /** It waits for a while before it may begin. */
  readonly delayed?: true;
}

// oxfmt-ignore
export const KINDS = {
  reads:   { often: 2, rounds: [["read", "look"], ["read"], ["read"]] },
  notes:   { often: 3, rounds: [["note"], ["note", "note"], ["note"]] },
  writes:  { often: 3, rounds: [["write"], ["append", "read"], ["write"]] },
  mixed:   { often: 3, rounds: [["read", "note"], ["write"], ["append", "note"], ["read"]] },
  slow:    { often: 2, rounds: [["slow"], ["read"], ["slow"]] },
  litter:  { often: 1, rounds: [["litter"], ["note"]] },
  sends:   { often: 2, rounds: [["attach"], ["learn"], ["attach", "note"]] },
  granted: { often: 3, rounds: [["note"], ["ask"], ["note"]],                     answer: "grant" },
  denied:  { often: 2, rounds: [["note"], ["ask"], ["read"]],                     answer: "deny" },
  removed: { often: 1, rounds: [["remove"], ["note"]],                            answer: "grant" },
  kept:    { often: 1, rounds: [["remove"], ["note"]],                            answer: "deny" },
  stopped: { often: 2, rounds: [["note"], ["slow"], ["note"], ["slow"], ["note"]], fate: "stop" },
  later:   { often: 1, rounds: [["note"], ["read"]],                              delayed: true },
  failing: { often: 1, rounds: [["note"], ["write"]],                             fate: "retry" },
} as const satisfies Record<string, KindRow>;

export type KindName = keyof typeof KINDS;

export function kindOf(name: KindName): KindRow {
  return KINDS[name];
}

/** All marks begin so. */
export const MARK = /fx-[\w-]+/g;

interface Place {
  readonly task: string;
  readonly chat: string;
  readonly kind: KindName;
}

/** The calls of a round, from 1. `again` tells those of one reply from those of another to the same question. */
export function callsOf({ task, chat, kind }: Place, round: number, again: number): readonly Call[] {
  const names: readonly CallName[] = kindOf(kind).rounds[round - 1] ?? [];
  return names.map((name, i) => CALLS[name]({ id: `fx-${task}-${round}-${i + 1}-${again}`, chat, task, round }));
}

/** The task as it is written to a service without a model: all of its calls at once, one a line. */
export function commandsOf(place: Place): string {
  const calls = kindOf(place.kind).rounds.flatMap((_, i) => callsOf(place, i + 1, 0));
  return calls.map(({ name, arguments: args }) => `/${name} ${JSON.stringify(args)}`).join("\n");
}
