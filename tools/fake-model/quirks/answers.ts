/** Answers instead of a reply: errors in every shape that servers give them. */
import { record } from "../formats/format.ts";
import type { Refusal } from "../formats/format.ts";
import type { Quirk, QuirkContext } from "./quirk.ts";

const CHAT = ["openai-chat"] as const;
const JSON_TYPE = "application/json";
const EVENTS = "text/event-stream; charset=utf-8";
const SAID = "The model `fake` cannot be used with this plan";
const PAGE =
  "<html>\n<head><title>400 Bad Request</title></head>\n<body>\n<center><h1>400 Bad Request</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n";

function bad(body: unknown, type = JSON_TYPE): () => Refusal {
  return () => ({ status: 400, body, type });
}

/** What the vendor says to a request that it does not take, with a status that says that all is well. */
function errorBody({ refusal }: QuirkContext): unknown {
  return refusal({ kind: "invalid", problem: { message: SAID } }).body;
}

const BASE_RESP = {
  id: "0217642a1c4b4f1d9f3e5b",
  choices: null,
  created: 0,
  model: "",
  usage: null,
  base_resp: { status_code: 1008, status_msg: "insufficient balance" },
};

const FASTAPI = [
  { type: "missing", loc: ["body", "messages", 1, "content"], msg: "Field required", input: { role: "user" } },
];

const RAW = JSON.stringify({ error: { message: SAID, type: "invalid_request_error", code: null } });

const FAILED_GENERATION = {
  message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  type: "invalid_request_error",
  code: "tool_use_failed",
  failed_generation: '<function=read{"path": "README.md"}</function>',
};

// oxfmt-ignore
export const ANSWERS = {
  error_in_200:          { client: "gives up", about: "an error in the body of a 200, as JSON", answer: (context) => ({ status: 200, body: errorBody(context), type: JSON_TYPE }) },
  error_in_200_events:   { client: "gives up", about: "the same as the only event of a stream", answer: (context) => ({ status: 200, body: `data: ${JSON.stringify(errorBody(context))}\n\n`, type: EVENTS }) },
  error_base_resp:       { client: "gives up", formats: CHAT, about: "MiniMax: 200, and base_resp says that it failed", answer: () => ({ status: 200, body: BASE_RESP, type: JSON_TYPE }) },
  error_string:          { client: "gives up", about: '400 and {"error":"…"}', answer: bad({ error: SAID }) },
  error_detail:          { client: "gives up", about: '400 and {"detail":"…"}', answer: bad({ detail: SAID }) },
  error_detail_list:     { client: "gives up", about: "422 and FastAPI's list of details", answer: () => ({ status: 422, body: { detail: FASTAPI } }) },
  error_message:         { client: "gives up", about: '400 and {"message":"…"}', answer: bad({ message: SAID }) },
  error_text:            { client: "gives up", about: "400 and plain text", answer: bad(`${SAID}\n`, "text/plain; charset=utf-8") },
  error_html:            { client: "gives up", about: "400 and a page of HTML", answer: bad(PAGE, "text/html") },
  error_openrouter_raw:  { client: "gives up", about: "400 and OpenRouter's metadata.raw", answer: bad({ error: { message: "Provider returned error", code: 400, metadata: { raw: RAW, provider_name: "Fake" } }, user_id: "user_2fake" }) },
  error_empty:           { client: "gives up", about: "400 and no body", answer: bad("", "text/plain") },
  tool_use_failed:       { client: "tells the model", formats: CHAT, about: "Groq: 400, the model's call could not be read", answer: () => ({ status: 400, body: { error: FAILED_GENERATION } }) },
  context_overflow:      { client: "compacts", about: "the context is full, in the vendor's words", answer: ({ refusal, tokens }) => refusal({ kind: "too_long", tokens, limit: Math.floor(tokens * 0.9) }) },
  throttled_like_overflow: { client: "asks again", about: "throttling in words that look like a full context", answer: ({ refusal }) => refusal({ kind: "invalid", problem: { message: "Throttling: too many tokens, please wait before trying again." } }) },
  out_of_credit:         { client: "gives up", about: "the account is empty, in the vendor's words", answer: ({ refusal }) => refusal({ kind: "no_credit" }) },
  wrong_key:             { client: "gives up", about: "the key is not valid, in the vendor's words", answer: ({ refusal }) => refusal({ kind: "wrong_key", key: "****fake" }) },
  bad_request:           { client: "gives up", about: "the request is not valid, in the vendor's shape", answer: ({ refusal }) => refusal({ kind: "invalid", problem: { message: "temperature: Input should be less than or equal to 1" } }) },
  model_down:            { client: "asks again", about: "503 in the vendor's words", answer: ({ refusal }) => refusal({ kind: "unavailable" }) },
  error_stream_only:     { client: "asks again", about: "a stream that has only an error that may pass", answer: ({ refusal }) => ({ status: 200, body: `data: ${JSON.stringify(record(refusal({ kind: "overloaded" }).body))}\n\n`, type: EVENTS }) },
} as const satisfies Record<string, Quirk>;
