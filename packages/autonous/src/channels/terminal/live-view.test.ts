import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { createLiveView } from "./live-view.ts";
import { createScreen } from "./screen.ts";
import type { Screen } from "./screen.ts";
import { widthOf } from "../words/width.ts";

interface Seen {
  readonly screen: Screen;
  readonly written: string[];
  text(): string;
}

function look(size: { columns?: number; isTTY?: boolean } = {}, env: NodeJS.ProcessEnv = {}): Seen {
  const written: string[] = [];
  const screen = createScreen({ ...size, write: (text: string) => written.push(text) }, env);
  return { screen, written, text: () => written.join("") };
}

function event(type: EventType, payload: RuntimeEvent["payload"]): RuntimeEvent {
  return {
    event_id: "evt_1",
    seq: 1,
    ts: "2026-01-31T12:00:00.000Z",
    type,
    trace_id: "t",
    task_id: null,
    run_id: "run_1",
    parent_id: null,
    payload,
    prev_hash: "",
    hash: "",
  };
}

const CALL = { tool_call_id: "call_1", tool_name: "edit", audit: { duration_ms: 12, params: { path: "a.txt" } } };
const EDITED = {
  payload: { data: { diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n" } },
  artifacts: { files_changed: ["a.txt"], commands_run: [] },
} as unknown as ToolCallResult;

// oxfmt-ignore
const SHOWN = [
  { title: "a turn",                     event: event("turn.started", { turn: 2 }),                               shows: ["turn 2"] },
  { title: "what the model says",        event: event("model.completed", { kind: "tool_calls", progress: "Looking\nnow" }), shows: ["  Looking now"] },
  { title: "not the answer",             event: event("model.completed", { kind: "final", answer: "42" }),        shows: [] },
  { title: "that a reply was cut off", event: event("model.completed", { kind: "cut", answer: "One, two" }), shows: ["  the reply was cut off at the output limit"] },
  { title: "what is wrong with a reply, without what the model is told", event: event("model.completed", { kind: "invalid", message: "Cannot use the reply: it is empty; call a tool" }), shows: ["  invalid reply", "    it is empty"] },
  { title: "no failure of a model: the task ends with it, and says so", event: event("model.failed", { code: "ModelFailed", message: "no answer" }), shows: [] },
  { title: "that another model is asked", event: event("model.switched", { from: "anthropic:a", to: "openai:b", reason: "quota", message: "400 no \u001bcredit" }), shows: ["  Falling back to openai:b: anthropic:a is out of credit (400 no \\ecredit)"] },
  { title: "nothing of what was paid besides", event: event("model.billed", { usage: { input_tokens: 1, output_tokens: 1 } }), shows: [] },
  { title: "a call that went well",      event: event("tool_call.completed", CALL),                               shows: ['  ok 12 ms  edit a.txt'] },
  { title: "where a file is that was attached", event: event("tool_call.completed", { ...CALL, attachments: [{ artifact: "artifacts/00-a.txt", name: "a\u001b.txt", caption: "see" }] }), shows: ['  ok 12 ms  edit a.txt', "    attached a\\e.txt (see): /state/runs/run_1/artifacts/00-a.txt"] },
  { title: "a call that failed",         event: event("tool_call.failed", { ...CALL, error: { code: "NoMatch", message: "not there" } }), shows: ['  failed 12 ms  edit a.txt', "    NoMatch: not there"] },
  { title: "no way to approve what was denied", event: event("tool_call.failed", { ...CALL, error: { code: "ApprovalDenied", message: "m", details: { approval_id: "apr_1" } } }), shows: ['  failed 12 ms  edit a.txt', "    ApprovalDenied: m"] },
  { title: "how to approve a call",      event: event("tool_call.failed", { ...CALL, error: { code: "ApprovalRequired", message: "m", replay: "autonous call edit '{}' --approve 00" } }), shows: ['  failed 12 ms  edit a.txt', "    ApprovalRequired: m", "    to approve it: autonous call edit '{}' --approve 00"] },
  { title: "a display",                  event: event("display", { content: "Half of it\nis done", level: "success", title: "Tests", evidence: ["a.log:3"] }), shows: ["  + Tests", "    Half of it", "    is done", "    - a.log:3"] },
  { title: "steps",                      event: event("todo", { content: "[x] 1. look\n[ ] 2. change", items: [{ text: "look", done: true }, { text: "change", done: false }] }), shows: ["  … steps: 1 of 2 done", "    [x] 1. look", "    [ ] 2. change"] },
  { title: "a display of another level", event: event("display", { content: "careful", level: "warning" }),       shows: ["  ! careful"] },
  { title: "an approval from elsewhere",       event: event("approval_granted", { ...CALL, by: "ann", via: "http" }),   shows: ["  edit: allowed by ann, via http"] },
  { title: "no approval from this terminal",  event: event("approval_granted", { ...CALL, by: "ann", via: "terminal" }), shows: [] },
  { title: "no start of a call",         event: event("tool_call.started", CALL),                                 shows: [] },
] as const;

for (const { title, event: given, shows } of SHOWN) {
  test(`the live view shows ${title}`, () => {
    const seen = look();
    createLiveView(seen.screen, { folderOf: (run_id) => `/state/runs/${run_id}` }).event(given);
    expect(seen.text()).toBe(shows.map((line) => `${line}\n`).join(""));
  });
}

test("a change is shown as a short diff; of others the files", () => {
  const seen = look();
  const view = createLiveView(seen.screen);
  view.event(event("tool_call.completed", CALL), EDITED);
  view.event(event("tool_call.completed", CALL), { ...EDITED, payload: null });
  expect(seen.text().split("\n").slice(1, -1)).toEqual([
    "    --- a/a.txt",
    "    +++ b/a.txt",
    "    @@ -1 +1 @@",
    "    -old",
    "    +new",
    "  ok 12 ms  edit a.txt",
    "    changed a.txt",
  ]);
  const long = { diff: `--- a\n+++ b\n${"+line\n".repeat(50)}` };
  view.event(event("tool_call.completed", CALL), { ...EDITED, payload: { data: long } } as unknown as ToolCallResult);
  expect(seen.text().trimEnd().split("\n").at(-1)).toBe("    … 44 more lines");
});

test("colours are for terminals, and for users who ask for them", () => {
  const failed = event("tool_call.failed", { ...CALL, error: { code: "NoMatch", message: "" } });
  const cases = [
    { isTTY: true, env: {}, colour: true },
    { isTTY: true, env: { NO_COLOR: "1" }, colour: false },
    { isTTY: true, env: { NO_COLOR: "" }, colour: true },
    { isTTY: true, env: { TERM: "dumb" }, colour: false },
    { isTTY: false, env: {}, colour: false },
    { isTTY: false, env: { FORCE_COLOR: "1" }, colour: true },
    { isTTY: true, env: { FORCE_COLOR: "0" }, colour: false },
    { isTTY: true, env: { FORCE_COLOR: "1", NO_COLOR: "1" }, colour: false },
  ];
  for (const { isTTY, env, colour } of cases) {
    const seen = look({ isTTY, columns: 80 }, env);
    createLiveView(seen.screen).event(failed);
    expect({ env, isTTY, colour: seen.text().includes("\u001b[31m") }).toEqual({ env, isTTY, colour });
  }
});

test("text from a model or a file cannot control the terminal, and every line fits", () => {
  const seen = look({ isTTY: true, columns: 40 }, { NO_COLOR: "1" });
  const view = createLiveView(seen.screen);
  const hostile = "\u001b]0;title\u0007\u001b[2J\r\u202e文件文件文件文件文件文件文件文件文件文件";
  const call = { ...CALL, tool_name: hostile, audit: { duration_ms: 1, params: { path: hostile } } };
  view.event(event("display", { content: hostile, title: hostile, level: hostile, evidence: [hostile] }));
  view.event(event("todo", { content: hostile, items: hostile }));
  view.event(event("tool_call.failed", { ...call, error: { code: "X", message: hostile } }));
  view.event(event("model.completed", { kind: "invalid", message: hostile }));
  view.event(event("tool_call.completed", call), {
    ...EDITED,
    payload: { data: { diff: `+${hostile}` } },
  } as unknown as ToolCallResult);
  // oxlint-disable-next-line no-control-regex
  expect(seen.text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  expect(
    seen
      .text()
      .split("\n")
      .filter((line) => widthOf(line) > 40),
  ).toEqual([]);
});

test("a bar is redrawn in place at a terminal, and removed when its call is over", () => {
  const seen = look({ isTTY: true, columns: 60 }, { NO_COLOR: "1" });
  const view = createLiveView(seen.screen);
  view.event(event("tool_call.started", { ...CALL, tool_name: "grep" }));
  expect(seen.written.splice(0)).toEqual(["\r\u001b[K  running grep a.txt"]);
  view.progress({ tool_call_id: "call_1", fraction: 0.5, detail: "looking\nthrough it" });
  expect(seen.text()).toBe("\r\u001b[K  grep ██████████░░░░░░░░░░  50 % through it");
  view.event(event("display", { content: "found one" }));
  expect(seen.written.slice(1)).toEqual([
    "\r\u001b[K",
    "  i found one\n",
    "\r\u001b[K  grep ██████████░░░░░░░░░░  50 % through it",
  ]);
  view.event(event("tool_call.completed", CALL));
  expect(seen.written.slice(4)).toEqual(["\r\u001b[K", "  ok 12 ms  edit a.txt\n"]);
});

test("without a terminal, each tenth of a call's progress is printed once", () => {
  const seen = look();
  const view = createLiveView(seen.screen);
  view.event(event("tool_call.started", { ...CALL, tool_name: "grep" }));
  for (let i = 0; i <= 1000; i++) view.progress({ tool_call_id: "call_1", fraction: i / 1000, detail: "" });
  view.progress({ tool_call_id: "call_1", fraction: null, detail: "noise" });
  view.progress({ tool_call_id: "call_1", fraction: Number.NaN, detail: "noise" });
  expect(seen.text()).toBe(Array.from({ length: 10 }, (_, i) => `  grep ${(i + 1) * 10} %\n`).join(""));
});

test("events during a question are shown afterwards", () => {
  const seen = look({ isTTY: true, columns: 80 }, {});
  const view = createLiveView(seen.screen);
  const held = seen.screen.hold();
  view.event(event("display", { content: "one" }));
  view.progress({ tool_call_id: "call_1", fraction: 0.5, detail: "" });
  expect(seen.text()).toBe("");
  held.release();
  held.release();
  expect(seen.text()).toContain("one");
});

const SAID = "The port is read in app.ts, and nothing else in this folder sets it.\n\nChange it there.";

/** What stays on the screen: without the line that is redrawn. */
function staying({ written }: Seen): string {
  // oxlint-disable-next-line no-control-regex
  return written.filter((text) => !/^(?:\u001b\[\d+A)?\r/.test(text)).join("");
}

test("a reply is shown as it streams, and its text is not repeated", () => {
  for (const kind of ["final", "tool_calls"] as const) {
    const seen = look({ isTTY: true, columns: 40 }, { NO_COLOR: "1" });
    const view = createLiveView(seen.screen);
    for (const text of SAID.match(/.{1,7}/gs) ?? []) view.delta({ kind: "text", text });
    expect(seen.text()).toContain("\r\u001b[K  The por");
    const said = kind === "final" ? { answer: SAID } : { progress: SAID };
    view.event(event("model.completed", { kind, ...said }));
    expect(staying(seen).split("\n")).toEqual([
      "  The port is read in app.ts, and",
      "  nothing else in this folder sets it.",
      "  ",
      "  Change it there.",
      "",
    ]);
    expect(view.isAnswerShown).toBe(kind === "final");
  }
});

// oxfmt-ignore
const NOT_SHOWN = [
  { title: "a file gets no preview",                 tty: false, said: "The answer",         answer: "The answer" },
  { title: "a reply in JSON is not a preview",  tty: true,  said: '{"final_answer":"4', answer: "42" },
  { title: "redacted text is shown again",           tty: true,  said: `${"a ".repeat(60)}\n`, answer: "***REDACTED***" },
  { title: "nothing came",                           tty: true,  said: "",                   answer: "42" },
];

for (const { title, tty, said, answer } of NOT_SHOWN) {
  test(`the answer does not count as shown: ${title}`, () => {
    const seen = look({ isTTY: tty, columns: 40 }, { NO_COLOR: "1" });
    const view = createLiveView(seen.screen);
    view.delta({ kind: "text", text: said });
    view.event(event("model.completed", { kind: "final", answer }));
    expect(view.isAnswerShown).toBe(false);
  });
}

test("an answer in pieces counts as shown if every piece was", () => {
  for (const isSeen of [true, false]) {
    const view = createLiveView(look({ isTTY: true, columns: 40 }, { NO_COLOR: "1" }).screen);
    if (isSeen) view.delta({ kind: "text", text: "One, two, " });
    view.event(event("model.completed", { kind: "cut", answer: "One, two, " }));
    expect(view.isAnswerShown).toBe(isSeen);
    view.delta({ kind: "text", text: "three." });
    view.event(event("model.completed", { kind: "final", answer: "three." }));
    expect(view.isAnswerShown).toBe(isSeen);
    view.delta({ kind: "text", text: "Next." });
    view.event(event("model.completed", { kind: "final", answer: "Next." }));
    expect(view.isAnswerShown).toBe(true);
  }
});

test("a preview cannot control the terminal, and every row fits", () => {
  const seen = look({ isTTY: true, columns: 30 }, { NO_COLOR: "1" });
  const view = createLiveView(seen.screen);
  const hostile = `\u001b[2J\u202e\t文件文件文件文件文件文件文件文件文件${"x".repeat(100)}\u0007👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍👍`;
  for (const character of hostile) view.delta({ kind: "text", text: character });
  view.delta({ kind: "reasoning", text: hostile });
  view.event(event("model.completed", { kind: "final", answer: hostile }));
  // oxlint-disable-next-line no-control-regex
  const rows = seen.text().replaceAll("\r\u001b[K", "\n").split("\n");
  // oxlint-disable-next-line no-control-regex
  expect(rows.filter((row) => /[\u0000-\u001f\u202e]/.test(row) || widthOf(row) > 30)).toEqual([]);
  expect(view.isAnswerShown).toBe(true);
});

test("reasoning is shown beside a line and stays; a retry is announced", () => {
  const seen = look({ isTTY: true, columns: 60 }, { NO_COLOR: "1" });
  const view = createLiveView(seen.screen);
  view.delta({ kind: "reasoning", text: "First the port.\nThen" });
  expect(seen.text()).toBe("\r\u001b[K  │ First the port.\n  │ Then");
  view.delta({ kind: "text", text: "I begin" });
  view.retry({ wait_ms: 1500, reason: "429 Too Many Requests" });
  expect(staying(seen)).toBe(
    "  │ First the port.\n  │ Then\n  I begin\n  retrying the model in 1.5 s: 429 Too Many Requests\n",
  );
  view.event(event("model.completed", { kind: "final", answer: "I begin again" }));
  expect(view.isAnswerShown).toBe(false);
});
