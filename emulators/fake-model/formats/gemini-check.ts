/** What Gemini's generateContent rejects. */
import { isRecord, list, record, text, unknownKeys, words } from "./format.ts";
import type { Json, Problem } from "./format.ts";
import { geminiProblems } from "./json-schema.ts";

const FIELDS = words(
  `contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent labels model serviceTier store
   tool_config safety_settings system_instruction generation_config cached_content service_tier`,
);

const GENERATION_FIELDS = words(
  `stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens
   temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers
   speechConfig thinkingConfig imageConfig mediaResolution`,
);

const PART_FIELDS = words(
  `text inlineData functionCall functionResponse fileData executableCode codeExecutionResult thought thoughtSignature
   partMetadata videoMetadata toolCall toolResponse inline_data function_call function_response file_data thought_signature`,
);

const DATA = words(
  `text inlineData functionCall functionResponse fileData executableCode codeExecutionResult toolCall toolResponse
   inline_data function_call function_response file_data`,
);

export function* geminiRequestProblems(body: Json, model: string): Generator<Problem> {
  yield* unknownFields(body, FIELDS, "");
  yield* unknownFields(record(body["generationConfig"]), GENERATION_FIELDS, "generation_config");
  const contents = list(body["contents"]).map((each) => record(each));
  if (contents.length === 0) yield { message: "* GenerateContentRequest.contents: contents is not specified\n" };
  const system = body["systemInstruction"];
  if (isRecord(system) && list(system["parts"]).length === 0)
    yield { message: "* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.\n" };
  for (const [i, content] of contents.entries()) yield* contentProblems(content, i);
  yield* orderProblems(contents);
  if (model.startsWith("gemini-3")) yield* signatureProblems(contents);
  yield* toolProblems(list(body["tools"]));
}

function* unknownFields(value: Json, known: readonly string[], at: string): Generator<Problem> {
  const place = at === "" ? "" : ` at '${at}'`;
  for (const key of unknownKeys(value, known))
    yield payloadProblem(`Invalid JSON payload received. Unknown name "${key}"${place}: Cannot find field.`, at);
}

function payloadProblem(message: string, field: string): Problem {
  const violation = { ...(field === "" ? {} : { field }), description: message };
  return { message, details: [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [violation] }] };
}

function* contentProblems(content: Json, i: number): Generator<Problem> {
  yield* unknownFields(content, ["role", "parts"], `contents[${i}]`);
  const { role } = content;
  if (role !== undefined && !["user", "model", "function"].includes(text(role)))
    yield { message: "Please use a valid role: user, model." };
  const parts = list(content["parts"]);
  if (parts.length === 0)
    yield { message: `* GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.\n` };
  for (const [k, each] of parts.entries()) {
    const part = record(each);
    const at = `contents[${i}].parts[${k}]`;
    yield* unknownFields(part, PART_FIELDS, at);
    const set = DATA.filter((key) => part[key] !== undefined && part[key] !== "");
    if (set.length === 0)
      yield {
        message: `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field\n`,
      };
    if (set.length > 1)
      yield payloadProblem(
        `Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${set[1]}'`,
        at,
      );
    const call = record(part["functionCall"] ?? part["functionResponse"]);
    const name = part["functionCall"] === undefined ? "function_response" : "function_call";
    if (set[0]?.startsWith("function") === true && text(call["name"]) === "")
      yield { message: `* GenerateContentRequest.${at}.${name}.name: Name cannot be empty.\n` };
  }
}

function countOf({ parts }: Json, key: string): number {
  return list(parts).filter((part) => record(part)[key] !== undefined).length;
}

function* orderProblems(contents: readonly Json[]): Generator<Problem> {
  for (const [i, content] of contents.entries()) {
    const before = contents[i - 1];
    const calls = countOf(content, "functionCall");
    const responses = countOf(content, "functionResponse");
    if (calls > 0 && (before === undefined || before["role"] === "model"))
      yield {
        message:
          "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      };
    const asked = before === undefined ? 0 : countOf(before, "functionCall");
    if (responses > 0 && asked === 0)
      yield { message: "Please ensure that function response turn comes immediately after a function call turn." };
    if (responses !== asked)
      yield {
        message:
          "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      };
  }
  const last = contents.at(-1);
  if (last !== undefined && countOf(last, "functionCall") > 0)
    yield {
      message:
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    };
  if (contents.length === 1 && last?.["role"] === "model")
    yield { message: "Please ensure that single turn requests end with a user role or the role field is empty." };
}

/** The issued signature, or one of the two placeholders that Google documents for calls of other models. */
const SIGNATURE = /^(?:Cl[A-Za-z0-9]{24}|skip_thought_signature_validator|context_engineering_is_the_way_to_go)$/;

/** From the third generation on, the first call of each step of the current turn must be sent back with its signature. */
function* signatureProblems(contents: readonly Json[]): Generator<Problem> {
  const isUserText = (content: Json): boolean =>
    content["role"] !== "model" && countOf(content, "functionResponse") === 0;
  const begin = contents.findLastIndex((content) => isUserText(content));
  for (const [i, content] of contents.entries()) {
    if (i < begin) continue;
    const k = list(content["parts"]).findIndex((part) => record(part)["functionCall"] !== undefined);
    const part = record(list(content["parts"])[k]);
    const signature = part["thoughtSignature"] ?? part["thought_signature"];
    if (k !== -1 && signature !== undefined && !SIGNATURE.test(text(signature)))
      yield { message: "Thought signature is not valid." };
    if (k !== -1 && signature === undefined)
      yield {
        message: `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${text(record(part["functionCall"])["name"])}\`, position ${i + 1}.`,
      };
  }
}

const DECLARATION_FIELDS = words(
  "name description behavior parameters parametersJsonSchema response responseJsonSchema",
);

function* toolProblems(tools: readonly unknown[]): Generator<Problem> {
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const declarations = list(record(tool)["functionDeclarations"] ?? record(tool)["function_declarations"]);
    for (const [k, each] of declarations.entries()) {
      const declaration = record(each);
      const at = `tools[${i}].function_declarations[${k}]`;
      yield* unknownFields(declaration, DECLARATION_FIELDS, at);
      const name = text(declaration["name"]);
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name))
        yield {
          message: `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
        };
      if (names.has(name)) yield { message: `Duplicate function declaration found: ${name}` };
      names.add(name);
      if (declaration["parameters"] !== undefined && declaration["parametersJsonSchema"] !== undefined)
        yield {
          message: `* GenerateContentRequest.${at}: parameters and parameters_json_schema are mutually exclusive\n`,
        };
      if (declaration["parameters"] === undefined) continue;
      for (const { message, field } of geminiProblems(declaration["parameters"], `${at}.parameters`))
        yield field === undefined ? { message } : payloadProblem(message, field);
    }
  }
}
