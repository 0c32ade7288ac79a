import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolError } from "@autonous/runtime";
import { parseStrictJson, pause } from "@autonous/runtime/internal";
import { z } from "zod";
import { syntaxReason } from "../calls/json-syntax.ts";
import type { ModelProvider, ModelReply } from "../provider.ts";

/** A reply in the plain JSON protocol. Use `text` for invalid replies. */
const reply = z.strictObject({
  tool_calls: z.array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })).optional(),
  final_answer: z.string().optional(),
});

/** One model round: a reply, any text, or a fault. A truncated reply (`length`) may also have a text or reply. */
const step = z
  .strictObject({
    /** Not a round of the task: the answer to every request with this purpose. */
    for: z.enum(["reverse_thinking", "summary"]).optional(),
    reply: reply.optional(),
    text: z.string().optional(),
    fault: z.enum(["error", "hang", "length"]).optional(),
    message: z.string().optional(),
    delay_ms: z.int().min(0).max(3_600_000).optional(),
  })
  .superRefine((given, context) => {
    const replies = [given.reply, given.text].filter((each) => each !== undefined).length;
    if (given.fault === undefined && replies !== 1)
      context.addIssue('must have exactly one of "reply", "text" and "fault"');
    if (given.fault === "length" && replies > 1) context.addIssue('may have one of "reply" and "text"');
    if ((given.fault === "error" || given.fault === "hang") && replies > 0) {
      context.addIssue(`has no reply, since its fault is "${given.fault}"`);
    }
    if (given.message !== undefined && given.fault === undefined) context.addIssue('has a "message" without a "fault"');
  });

const script = z.array(step);
type Step = z.infer<typeof step>;

const CUT_OFF_TEXT = '{"tool_calls":[{"name":"';
/** Maximum timer delay: about 25 days. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Replies and faults from a JSON file, for tests and demos. The request alone determines the next step, so a resumed
 * run continues where it was. Throws `InvalidArguments` with all problems of the file.
 */
export async function loadScriptProvider(path: string): Promise<ModelProvider> {
  const all = await readScript(resolve(path), path);
  return {
    name: `script:${path}`,
    complete: async ({ rounds, purpose }, { signal }) => {
      const aside = purpose === "round" ? undefined : purpose;
      const steps = all.filter((each) => each.for === aside);
      const next = steps[aside === undefined ? rounds : 0];
      if (next === undefined && aside !== undefined)
        throw new ToolError("ModelFailed", `The script "${path}" has no step for ${aside}`);
      if (next === undefined) {
        throw new ToolError(
          "ModelFailed",
          `The script "${path}" has ${steps.length} steps, and step ${rounds + 1} was asked for`,
        );
      }
      return await play(next, signal);
    },
  };
}

async function readScript(file: string, path: string): Promise<readonly Step[]> {
  const parsed = script.safeParse(parseJson(await readText(file, path), path));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: at, message }) =>
    at.length === 0 ? message : `${at.join(".")}: ${message}`,
  );
  throw new ToolError("InvalidArguments", `Cannot use the script "${path}": ${problems.join("; ")}`, { problems });
}

async function readText(file: string, path: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code = "it cannot be read" } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "file not found" : code;
    const details = { path, hint: "Use script:<file> with a readable file." };
    throw new ToolError("InvalidArguments", `Cannot use the script "${path}": ${reason}`, details, error);
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ToolError("InvalidArguments", `Cannot use the script "${path}": ${syntaxReason(error)}`, { path }, error);
  }
}

async function play(step: Step, signal: AbortSignal): Promise<ModelReply> {
  if (step.delay_ms !== undefined) await pause(step.delay_ms, { signal });
  if (step.fault === "hang") await pause(MAX_TIMER_MS, { signal });
  if (step.fault === "error" || step.fault === "hang") {
    throw new ToolError("ModelFailed", step.message ?? "The script says that the model fails here");
  }
  const text = step.reply === undefined ? step.text : JSON.stringify(step.reply);
  if (step.fault === "length") return { kind: "plain", text: text ?? step.message ?? CUT_OFF_TEXT, finish: "length" };
  return { kind: "plain", text: text ?? "", finish: "stop" };
}
