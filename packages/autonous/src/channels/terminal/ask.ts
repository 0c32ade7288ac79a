import { ToolError } from "@autonous/runtime";
import { makeVisible, visibleJson } from "@autonous/runtime/internal";
import type { ApprovalAnswer, ApprovalRequest, OnApproval } from "@autonous/runtime";
import { choiceLines, helpLines, keysOf, readAnswer } from "./answers.ts";
import type { Answer, Choices, LongScope } from "./answers.ts";
import { editText, findEditor, readArguments } from "./edit-arguments.ts";
import type { Editor } from "./edit-arguments.ts";
import { openKeyboard } from "./keyboard.ts";
import type { Keyboard } from "./keyboard.ts";
import { requestLines } from "./request-lines.ts";
import type { HeldScreen, Screen } from "./screen.ts";
import { wrap } from "../words/width.ts";

export interface AskOptions {
  readonly screen: Screen;
  /** The user at the terminal. */
  readonly by: string;
  /** Scopes that a grant may have here beyond the one call. */
  readonly scopes: readonly LongScope[];
  /** An editor inside a root is not started. */
  readonly roots: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Stops the run: the user pressed Ctrl-C twice. */
  readonly stop: () => void;
}

/** Asks the user at the terminal, one question at a time. Returns `null` if the terminal cannot be opened. */
export function createTerminalApprover(options: AskOptions): OnApproval {
  let last: Promise<unknown> = Promise.resolve();
  const manners = { wasInterrupted: false };
  return (request, { signal }) => {
    const asked = last.then(() => askOne(request, { ...options, signal, manners }));
    last = asked.catch(() => {}); // the caller gets the error
    return asked;
  };
}

interface AskContext extends AskOptions {
  readonly signal: AbortSignal;
  /** Whether the last answer was Ctrl-C. */
  readonly manners: { wasInterrupted: boolean };
}

/** An open question. */
interface Question extends AskContext {
  readonly request: ApprovalRequest;
  readonly choices: Choices;
  readonly held: HeldScreen;
  keyboard: Keyboard;
}

async function askOne(request: ApprovalRequest, context: AskContext): Promise<ApprovalAnswer | null> {
  context.signal.throwIfAborted();
  const keyboard = openKeyboard();
  if (keyboard === undefined) return null;
  const choices = { offers: request.offers, scopes: context.scopes, canEdit: request.args_json !== undefined };
  const question: Question = { ...context, request, choices, keyboard, held: context.screen.hold() };
  try {
    show(question, false);
    keyboard.forget(); // input from before the question was shown is not an answer to it
    return await takeAnswer(question);
  } catch (error) {
    if (context.signal.aborted) {
      question.held.print([""]);
      say(question, whyClosed(context.signal.reason));
    }
    throw error;
  } finally {
    question.keyboard.close();
    question.held.release();
  }
}

/** The empty line above a question, and the one that is typed on. */
const OWN_ROWS = 2;

function show({ request, choices, screen, held }: Question, whole: boolean): void {
  const below = choiceLines(choices, screen);
  const asked = requestLines(request, { screen, whole, now: Date.now(), reserved: below.length + OWN_ROWS });
  held.print(["", ...asked, ...below]);
}

async function takeAnswer(question: Question): Promise<ApprovalAnswer> {
  const { manners, choices, signal, request } = question;
  for (;;) {
    const typed = await question.keyboard.readLine({ prompt: "Your answer: ", signal });
    if (typed.kind === "interrupt") return await interrupt(question);
    manners.wasInterrupted = false;
    if (typed.kind === "pasted") {
      say(question, "Several lines at once are ignored; answer with one line.");
      question.keyboard.forget();
      continue;
    }
    const answer: Answer = typed.kind === "end" ? { kind: "deny", reason: "" } : readAnswer(typed.text, choices);
    if (answer.kind === "grant" || answer.kind === "deny") return settle(question, answer, typed.kind === "end");
    const args = answer.kind === "edit" ? await edit(question, request.args_json ?? "") : undefined;
    if (args !== undefined) return { ...grantedBy(question), scope: "call", args };
    if (answer.kind === "all") show(question, true);
    if (answer.kind === "help") question.held.print(helpLines(choices, request.digest, question.screen));
    if (answer.kind === "unclear") say(question, `Invalid answer; use one of ${keysOf(choices)}. Nothing was allowed.`);
  }
}

function settle(
  question: Question,
  answer: Extract<Answer, { kind: "grant" | "deny" }>,
  isEnd: boolean,
): ApprovalAnswer {
  const { by, held } = question;
  if (isEnd) held.print([""]); // the user typed no line end
  if (answer.kind === "deny") {
    say(question, answer.reason === "" ? "Denied." : "Denied; the model gets the reason.");
    return { answer: "deny", ...(answer.reason === "" ? {} : { reason: answer.reason }), by, via: "terminal" };
  }
  if (answer.scope === "call") {
    say(question, "Allowed once.");
    return { ...grantedBy(question), scope: "call" };
  }
  const words = question.request.offers.find(({ offer }) => offer === answer.offer)?.words ?? "";
  say(question, `Allowed for the rest of this ${answer.scope}: ${words}`);
  return { ...grantedBy(question), scope: answer.scope, offer: answer.offer };
}

function grantedBy({ by }: AskContext): Pick<ApprovalAnswer, "answer" | "by" | "via"> {
  return { answer: "grant", by, via: "terminal" };
}

/** Cancels the call; the second time in a row, stops the run. */
async function interrupt({ manners, held, request, signal, stop }: Question): Promise<never> {
  if (manners.wasInterrupted) {
    stop();
    await new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      if (signal.aborted) reject(signal.reason as Error);
    });
  }
  manners.wasInterrupted = true;
  held.print(["", "Cancelled. Press Ctrl-C again to stop the run."]);
  throw new ToolError("Cancelled", `"${request.tool}" was cancelled at the approval prompt, before it ran`);
}

/** Returns the edited arguments; undefined if the user gave up editing. */
async function edit(question: Question, json: string): Promise<Record<string, unknown> | undefined> {
  const editor = findEditor(question.env, question.roots);
  let text = editor === undefined ? json : visibleJson(JSON.parse(json) as unknown, 2);
  for (;;) {
    const typed = editor === undefined ? await editInline(question, text) : await editElsewhere(question, text, editor);
    if (typed === undefined) break;
    text = typed;
    const edited = readArguments(text);
    if ("problem" in edited) {
      say(question, edited.problem);
      if (editor === undefined || (await wantsMore(question))) continue;
      break;
    }
    if (visibleJson(edited.args) === json) break;
    say(question, "Edited arguments allowed.");
    return { ...edited.args };
  }
  say(question, "Arguments unchanged. Nothing was allowed.");
  return undefined;
}

async function editInline({ keyboard, signal }: Question, initial: string): Promise<string | undefined> {
  const typed = await keyboard.readLine({ prompt: "Arguments: ", signal, initial });
  return typed.kind === "line" ? typed.text : undefined;
}

async function editElsewhere(question: Question, text: string, editor: Editor): Promise<string | undefined> {
  question.keyboard.close(); // the editor reads the terminal now
  try {
    return await editText(`${text.trimEnd()}\n`, editor, question.signal);
  } catch (error) {
    if (question.signal.aborted) throw question.signal.reason;
    say(question, `Cannot edit with ${editor.path}: ${(error as Error).message}`);
    return undefined;
  } finally {
    question.keyboard = openKeyboard() ?? question.keyboard;
    question.keyboard.forget(); // that input was for the editor
  }
}

async function wantsMore({ keyboard, signal }: Question): Promise<boolean> {
  const typed = await keyboard.readLine({ prompt: "Continue editing? (y or n) ", signal });
  return typed.kind === "line" && /^y(?:es)?$/i.test(typed.text.trim());
}

function say({ held, screen }: Question, text: string): void {
  held.print(wrap(makeVisible(text), Math.max(20, screen.columns ?? 80)));
}

/** Why the question was closed: the abort reason, or a timeout if it has no message. */
function whyClosed(reason: unknown): string {
  const { message = "" } = Object(reason) as { readonly message?: string };
  return `Question closed: ${message === "" ? "no answer in time" : makeVisible(message)}`;
}
