/** Each vendor's errors: format and wording. */
import { record } from "../formats/format.ts";
import type { Problem, Refusal, RefusalTrouble } from "../formats/format.ts";
import { openaiRefusal } from "../formats/openai-errors.ts";

interface VendorError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string | number | null;
  readonly trouble: RefusalTrouble;
}

/** `{limit}`, `{tokens}`, `{model}` and `{key}` are filled in. */
type Row = readonly [status: number, message: string, type?: string, code?: string | number | null];

interface ErrorStyle {
  /** The body. A string is sent unchanged. */
  wrap(error: VendorError): unknown;
  /** Errors that are not listed use OpenAI's wording. */
  readonly words: Partial<Record<RefusalTrouble["kind"], Row>>;
  /** The type of an invalid request error. */
  readonly invalid?: readonly [type: string, code: string | number | null];
}

function filled(words: string, trouble: RefusalTrouble): string {
  return words.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = record(trouble)[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  });
}

function errorOf({ words, invalid }: ErrorStyle, trouble: RefusalTrouble): VendorError {
  const row = words[trouble.kind];
  const usual = openaiRefusal(trouble);
  const { message, type, code } = record(record(usual.body)["error"]);
  if (row !== undefined)
    return { status: row[0], message: filled(row[1], trouble), type: row[2] ?? "", code: row[3] ?? null, trouble };
  const [usualType, usualCode] = invalid ?? [String(type), (code ?? null) as string | null];
  const isInvalid = trouble.kind === "invalid" || trouble.kind === "broken_json";
  return {
    status: usual.status,
    message: String(message),
    type: isInvalid ? usualType : String(type),
    code: isInvalid ? usualCode : ((code ?? null) as string | null),
    trouble,
  };
}

/** A problem with the vendor's own wording and type. */
export interface VendorProblem extends Problem {
  readonly type?: string;
}

function refusalIn(style: ErrorStyle): (trouble: RefusalTrouble) => Refusal {
  return (trouble) => {
    const error = errorOf(style, trouble);
    const problem: VendorProblem | undefined = trouble.kind === "invalid" ? trouble.problem : undefined;
    const said = { ...error, type: problem?.type ?? error.type, code: problem?.code ?? error.code };
    const body = style.wrap(said);
    const type = typeof body === "string" ? { type: "text/plain; charset=utf-8" } : {};
    return { status: error.status, body, ...type };
  };
}

const nested: ErrorStyle["wrap"] = ({ message, type, code }) => ({ error: { message, type, param: null, code } });
const flat: ErrorStyle["wrap"] = ({ message, type, code }) => ({ object: "error", message, type, param: null, code });
const REQUEST_ID = "0217642a1c4b4f1d9f3e5b";

/** Mistral's gateway reports less than its models. */
const mistral: ErrorStyle["wrap"] = (error) => {
  if (error.trouble.kind === "no_key" || error.trouble.kind === "wrong_key") return { detail: error.message };
  return flat(error);
};

const google: ErrorStyle["wrap"] = ({ status, message, type }) => [{ error: { code: status, message, status: type } }];

/** The upstream vendor's message is inside, as text. */
const openrouter: ErrorStyle["wrap"] = ({ status, message, type, trouble }) => {
  const isOwn = !["invalid", "too_long"].includes(trouble.kind) || type === "openrouter";
  if (isOwn) return { error: { message, code: status }, user_id: "user_2fake" };
  const raw = JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } });
  const metadata = { raw, provider_name: "Anthropic", is_byok: false };
  return { error: { message: "Provider returned error", code: status, metadata }, user_id: "user_2fake" };
};

const INVALID = "invalid_request_error";
const OPENAI_LONG =
  "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens ({tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.";

// oxfmt-ignore
const STYLES = {
  deepseek: { wrap: nested, invalid: [INVALID, INVALID], words: {
    no_key:       [401, "Authentication Fails (governor)", "authentication_error", INVALID],
    wrong_key:    [401, "Authentication Fails, Your api key: {key} is invalid", "authentication_error", INVALID],
    unknown_model: [400, "Model Not Exist", INVALID, INVALID],
    too_long:     [400, OPENAI_LONG, INVALID, INVALID],
    no_credit:    [402, "Insufficient Balance", "unknown_error", INVALID],
    rate_limited: [429, "Rate limit reached. Please pace your requests reasonably.", "rate_limit_error", "rate_limit_error"],
    overloaded:   [503, "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.", "service_unavailable_error", "service_unavailable_error"],
    unavailable:  [503, "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.", "service_unavailable_error", "service_unavailable_error"],
  } },
  kimi: { wrap: ({ message, type }) => ({ error: { message, type } }), invalid: [INVALID, null], words: {
    no_key:       [401, "Invalid Authentication", "invalid_authentication_error"],
    wrong_key:    [401, "Invalid Authentication", "invalid_authentication_error"],
    unknown_model: [404, "Not found the model {model} or Permission denied", "resource_not_found_error"],
    too_long:     [400, "Invalid request: Your request exceeded model token limit: {limit} (requested: {tokens})", INVALID],
    no_credit:    [429, "Your account org-fake<ak-fake> is suspended, please check your plan and billing details", "exceeded_current_quota_error"],
    rate_limited: [429, "Your account org-fake<ak-fake> request reached organization max RPM: 3, please try again after 1 seconds", "rate_limit_reached_error"],
    overloaded:   [429, "The engine is currently overloaded, please try again later", "engine_overloaded_error"],
  } },
  qwen: { wrap: (error) => ({ ...(nested(error) as object), request_id: REQUEST_ID }), invalid: [INVALID, "invalid_parameter_error"], words: {
    no_key:       [401, "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY). ", INVALID],
    wrong_key:    [401, "Incorrect API key provided. ", INVALID, "invalid_api_key"],
    unknown_model: [404, "The model `{model}` does not exist or you do not have access to it.", INVALID, "model_not_found"],
    too_long:     [400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {limit}]", INVALID, "invalid_parameter_error"],
    no_credit:    [400, "Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"],
    rate_limited: [429, "You exceeded your current requests list.", "limit_requests", "limit_requests"],
  } },
  mistral: { wrap: mistral, invalid: ["invalid_request_error", "3051"], words: {
    no_key:       [401, "Unauthorized"],
    wrong_key:    [401, "Unauthorized"],
    unknown_model: [400, "Invalid model: {model}", "invalid_model", "1500"],
    too_long:     [400, "Prompt contains {tokens} tokens and 0 draft tokens, too large for model with {limit} maximum context length", "invalid_request_prompt", "3051"],
    no_credit:    [402, "You have reached your usage limit. Please check your plan and billing.", "payment_required", "4020"],
    rate_limited: [429, "Rate limit exceeded", "rate_limited", "1300"],
    overloaded:   [429, "Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded", "3505"],
    unavailable:  [503, "Service unavailable.", "unreachable_backend", "1100"],
  } },
  xai: { wrap: ({ message, type }) => ({ code: type, error: message }), invalid: ["Client specified an invalid argument", null], words: {
    no_key:       [401, "No API key provided. You can obtain an API key from https://console.x.ai.", "Unauthenticated"],
    wrong_key:    [400, "Incorrect API key provided: {key}. You can obtain an API key from https://console.x.ai.", "Client specified an invalid argument"],
    unknown_model: [404, "The model {model} does not exist or your team does not have access to it.", "Some requested entity was not found"],
    too_long:     [400, "This model's maximum prompt length is {limit} but the request contains {tokens} tokens.", "Client specified an invalid argument"],
    no_credit:    [403, "Your team has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.", "The caller does not have permission to execute the specified operation"],
    rate_limited: [429, "Too many requests for team. Your team has exceeded its rate limit.", "Some resource has been exhausted"],
    overloaded:   [503, "The model is currently at capacity due to high demand.", "The service is currently unavailable"],
  } },
  zai: { wrap: ({ message, code }) => ({ error: { code, message } }), invalid: ["", "1214"], words: {
    no_key:       [401, "Header中未收到Authentication参数，无法进行身份验证。", "", "1001"],
    wrong_key:    [401, "token expired or incorrect", "", "1000"],
    unknown_model: [400, "Unknown Model, please check the model code.", "", "1211"],
    too_long:     [400, "Prompt exceeds max length", "", "1261"],
    no_credit:    [429, "Insufficient balance or no resource package. Please recharge.", "", "1113"],
    rate_limited: [429, "Rate limit reached for requests", "", "1302"],
    overloaded:   [429, "The service may be temporarily overloaded, please try again later", "", "1305"],
  } },
  minimax: { wrap: ({ status, message, type }) => ({ type: "error", error: { type, message, http_code: String(status) }, request_id: REQUEST_ID }), invalid: ["bad_request_error", null], words: {
    no_key:       [401, "login fail: Please carry the API secret key in the 'Authorization' field of the request header (1004)", "authorized_error"],
    wrong_key:    [401, "invalid api key (2049)", "authorized_error"],
    unknown_model: [400, "invalid params, unknown model '{model}' (2013)", "bad_request_error"],
    too_long:     [400, "invalid params, context window exceeds limit (2013)", "bad_request_error"],
    no_credit:    [402, "insufficient balance (1008)", "insufficient_balance_error"],
    rate_limited: [429, "rate limit exceeded(RPM) (1002)", "rate_limit_error"],
    overloaded:   [529, "The server cluster is currently under high load. Please retry after a short wait and thank you for your patience. (2064)", "overloaded_error"],
    server_error: [500, "unknown error, 794 (1000)", "api_error"],
  } },
  openrouter: { wrap: openrouter, words: {
    no_key:       [401, "No auth credentials found"],
    wrong_key:    [401, "User not found."],
    unknown_model: [400, "{model} is not a valid model ID"],
    too_long:     [400, "prompt is too long: {tokens} tokens > {limit} maximum"],
    no_credit:    [402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits"],
    rate_limited: [429, "Rate limit exceeded: free-models-per-min. "],
    unavailable:  [503, "No allowed providers are available for the selected model."],
    overloaded:   [502, "Provider returned error"],
  } },
  together: { wrap: (error) => ({ id: "oFake-1", ...(nested(error) as object) }), words: {
    no_key:       [401, "Missing API key - get one at https://api.together.ai/settings/api-keys", INVALID, "invalid_api_key"],
    wrong_key:    [401, "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.", INVALID, "invalid_api_key"],
    unknown_model: [404, "Unable to access model {model}. Please visit https://api.together.ai/models to view the list of supported models.", INVALID, "model_not_available"],
    too_long:     [422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {tokens} `inputs` tokens and 0 `max_new_tokens`", INVALID],
    no_credit:    [402, "Credit limit exceeded, please navigate to https://api.together.xyz/settings/billing to add credit.", "credit_limit", null],
    rate_limited: [429, "You have reached the rate limit specific to this model.", "model_rate_limit"],
    overloaded:   [503, "The server is overloaded or not ready yet.", "service_unavailable"],
  } },
  groq: { wrap: nested, words: {
    wrong_key:    [401, "Invalid API Key", INVALID, "invalid_api_key"],
    too_long:     [400, "Please reduce the length of the messages or completion.", INVALID, "context_length_exceeded"],
    rate_limited: [429, "Rate limit reached for model `fake` in organization `org_fake` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Please try again in 1s.", "tokens", "rate_limit_exceeded"],
    overloaded:   [503, "fake is currently over capacity. Please try again and back off exponentially.", "internal_server_error", "service_unavailable"],
    no_credit:    [402, "Your organization has reached its spend limit. Please check your billing settings.", INVALID, "blocked_api_access"],
  } },
  fireworks: { wrap: ({ message, type, code }) => ({ error: { object: "error", type, code, message } }), invalid: [INVALID, INVALID], words: {
    no_key:       [401, "The API key you provided is missing.", "UNAUTHORIZED", "UNAUTHORIZED"],
    wrong_key:    [403, "The API key you provided is invalid.", "UNAUTHORIZED", "UNAUTHORIZED"],
    unknown_model: [404, "Model not found, inaccessible, and/or not deployed", "NOT_FOUND", "NOT_FOUND"],
    too_long:     [400, "The prompt is too long: {tokens}, model maximum context length: {limit}", INVALID, INVALID],
    no_credit:    [412, "Account fake is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.", "PRECONDITION_FAILED", "PRECONDITION_FAILED"],
    rate_limited: [429, "rate limit exceeded, please try again later", "rate_limit_exceeded", "rate_limit_exceeded"],
  } },
  copilot: { wrap: ({ message, code, trouble }) => (["no_key", "wrong_key"].includes(trouble.kind) ? message : { error: { message, code } }), invalid: ["", "invalid_request_body"], words: {
    no_key:       [401, "bad request: Authorization header is badly formatted\n"],
    wrong_key:    [401, "unauthorized: token expired\n"],
    unknown_model: [400, "The requested model is not supported.", "", "model_not_supported"],
    too_long:     [400, "prompt token count of {tokens} exceeds the limit of {limit}", "", "model_max_prompt_tokens_exceeded"],
    no_credit:    [402, "You have exceeded your premium request allowance.", "", "quota_exceeded"],
    rate_limited: [429, "Sorry, you have exceeded your Copilot token usage. Please review our Terms of Service.", "", "rate_limited"],
  } },
  ollama: { wrap: nested, invalid: [INVALID, null], words: {
    unknown_model: [404, 'model "{model}" not found, try pulling it first', "api_error"],
    wrong_key:    [401, "unauthorized", "api_error"],
    too_long:     [400, "prompt too long; exceeded max context length by 17 tokens", INVALID],
    no_credit:    [402, "you've reached your weekly usage limit, upgrade for higher limits", "api_error"],
    rate_limited: [429, "too many concurrent requests", "api_error"],
    overloaded:   [503, "server busy, please try again.  maximum pending requests exceeded", "api_error"],
    server_error: [500, "llama runner process has terminated: signal: killed", "api_error"],
  } },
  vllm: { wrap: (error) => (error.trouble.kind === "no_key" || error.trouble.kind === "wrong_key" ? { error: "Unauthorized" } : nested(error)), invalid: ["BadRequestError", 400], words: {
    no_key:       [401, "Unauthorized"],
    wrong_key:    [401, "Unauthorized"],
    unknown_model: [404, "The model `{model}` does not exist.", "NotFoundError", 404],
    too_long:     [400, "This model's maximum context length is {limit} tokens. However, you requested 0 output tokens and your prompt contains at least {tokens} input tokens, for a total of at least {tokens} tokens. Please reduce the length of the input prompt or the number of requested output tokens.", "BadRequestError", 400],
    server_error: [500, "EngineCore encountered an issue. See stack trace (above) for the root cause.", "InternalServerError", 500],
    unavailable:  [503, "The server is overloaded or not ready yet.", "ServiceUnavailableError", 503],
  } },
  sglang: { wrap: flat, invalid: ["BadRequestError", 400], words: {
    no_key:       [401, "Unauthorized"],
    wrong_key:    [401, "Unauthorized"],
    too_long:     [400, "The input ({tokens} tokens) is longer than the model's context length ({limit} tokens).", "BadRequestError", 400],
    overloaded:   [503, "The request queue is full.", "InternalServerError", 503],
  } },
  lmstudio: { wrap: ({ message }) => ({ error: message }), words: {
    unknown_model: [404, "Model \"{model}\" not found. Please specify a valid model."],
    too_long:     [400, "Trying to keep the first {tokens} tokens when context the overflows. However, the model is loaded with context length of only {limit} tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."],
    server_error: [500, "The model has crashed without additional information. (Exit code: 18446744072635812000)"],
    unavailable:  [503, "Model is loading"],
  } },
  llamacpp: { wrap: ({ status, message, type, trouble }) => ({ error: { code: status, message, type, ...(trouble.kind === "too_long" ? { n_prompt_tokens: trouble.tokens, n_ctx: trouble.limit } : {}) } }), invalid: [INVALID, null], words: {
    no_key:       [401, "Invalid API Key", "authentication_error"],
    wrong_key:    [401, "Invalid API Key", "authentication_error"],
    too_long:     [400, "request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it", "exceed_context_size_error"],
    unavailable:  [503, "Loading model", "unavailable_error"],
    overloaded:   [503, "Loading model", "unavailable_error"],
  } },
  tgi: { wrap: ({ message, type }) => ({ error: message, error_type: type }), invalid: ["validation", null], words: {
    no_key:       [401, "Unauthorized", "authentication"],
    wrong_key:    [401, "Unauthorized", "authentication"],
    too_long:     [422, "Input validation error: `inputs` must have less than {limit} tokens. Given: {tokens}", "validation"],
    overloaded:   [429, "Model is overloaded", "overloaded"],
    rate_limited: [429, "Model is overloaded", "overloaded"],
    server_error: [424, "Request failed during generation: Server error: CUDA out of memory", "generation"],
  } },
  google: { wrap: google, invalid: ["INVALID_ARGUMENT", null], words: {
    no_key:       [400, "Missing or invalid Authorization header.", "INVALID_ARGUMENT"],
    wrong_key:    [400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"],
    too_long:     [400, "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit}).", "INVALID_ARGUMENT"],
    no_credit:    [429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED"],
    rate_limited: [429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"],
    overloaded:   [503, "The model is overloaded. Please try again later.", "UNAVAILABLE"],
  } },
} as const satisfies Record<string, ErrorStyle>;

type StyleName = keyof typeof STYLES;

/** How a vendor answers a rejected request. */
export function refusalOf(name: StyleName): (trouble: RefusalTrouble) => Refusal {
  return refusalIn(STYLES[name]);
}

/** Anthropic's types of errors, by status. */
const DOOR_TYPES: Readonly<Record<number, string>> = {
  400: INVALID,
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  422: INVALID,
  429: "rate_limit_error",
  500: "api_error",
  503: "overloaded_error",
  529: "overloaded_error",
};

/** Its message in the format of Anthropic's errors. */
export function doorRefusalOf(name: StyleName): (trouble: RefusalTrouble) => Refusal {
  const wrap: ErrorStyle["wrap"] = ({ status, message }) => ({
    type: "error",
    error: { type: DOOR_TYPES[status] ?? "api_error", message },
  });
  return refusalIn({ ...STYLES[name], wrap });
}
