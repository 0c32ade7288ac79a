import type { EventType } from "./events.ts";

const CALL = {
  tool_call_id: "the call",
  tool_name: "the tool's own name, even if an alias was used",
} as const;

const ACCESS = {
  channel: "the channel",
  user: "the person's id in the channel",
  name: "the person's display name in the channel, redacted",
  by: "who decided: a person of the channel (`telegram:7`) or a user of this machine",
  via: "how: `code`, `button` or `command line`",
} as const;

const AUDIT = {
  audit: "the audit record of the call: decision, rule, approval, actor, parameters, places, hashes (`auditRecord`)",
} as const;

const COUNTS = {
  turns: "rounds of the model",
  calls: "calls made",
  usage: "tokens and cost: `input_tokens`, `output_tokens`, `cached_input_tokens`, `cost`",
} as const;

const ANSWERED = {
  ...CALL,
  approval_id: "the request",
  digest: "SHA-256 of the request: the answer applies only to it",
  scope: "scope of a grant: `call`, `run`, `session`; null for a denial",
  by: "who answered; null if unknown",
  via: "where: `terminal`, `http`, `telegram` …; null if unknown",
  reason: "the reason given; may be empty",
} as const;

const ENDED = {
  attempts: "attempts so far, counted from 1 again after a manual retry",
  crashes: "workers that crashed while running it",
} as const;

const TAKEN = {
  "worker?": "the worker, in the service",
  "attempt?": "number of the attempt, in the service",
  "crashes?": "earlier worker crashes, in the service",
  "retries?": "number of manual retries, if any",
  "source?": "`terminal`, where a run or chat is resumed there",
} as const;

/**
 * The fields of each event's payload; a name that ends in `?` is optional. `docs/events.md` is generated from this
 * table, and a test compares recorded events with it.
 */
export const EVENT_PAYLOADS = {
  "task.queued": {
    source: "the channel: `http`, `telegram` …",
    lane: "the chat; its tasks run one at a time",
    external_id: "the channel's own id of the message, or null",
    user: "who asked, or null",
    "skill?": "the skill that the task names",
    "by?": "who retried the task, after a manual retry",
    "undoes?": "the run whose changes the task undoes, instead of asking the model",
  },
  "task.started": TAKEN,
  "task.resumed": TAKEN,
  "task.retry_scheduled": {
    attempts: ENDED.attempts,
    error: "why it failed",
    retry_at: "when it runs again, ISO 8601",
  },
  "task.dead_lettered": { ...ENDED, error: "why it is not retried" },
  "task.waiting_approval": { approval_ids: "the requests that are pending" },
  "task.completed": ENDED,
  "task.failed": { ...ENDED, error: "why" },
  "task.cancelled": { ...ENDED, error: "why", "by?": "who stopped it", "dropped?": "true: it had failed before" },
  "agent.started": {
    task: "the text of the task, redacted",
    provider: "provider and model",
    limits: "turns, time, tokens and cost that end the run",
    project: "workspace context for the model: `notes` (with those `skipped`), `skills`, and an overview of the files",
    "history?": "number of earlier messages",
    "window?": "which of them are sent to the model",
    "parent_run_id?": "the run that this one is a part of",
    "source?": "`chat`, where it is a message of a chat at a terminal",
  },
  "agent.completed": {
    answer: "the final answer, redacted",
    "cut?": "true: the answer was truncated by the output limit",
    ...COUNTS,
  },
  "agent.failed": {
    code: "error code: [errors.md](errors.md)",
    message: "what happened",
    "reason?": "why the model failed: `key_refused`, `rate_limited` …",
    ...COUNTS,
    done: "names of the calls made, in order",
    files_changed: "paths",
  },
  "turn.started": { turn: "number, from 1" },
  "turn.completed": { turn: "number, from 1", outcome: "`tool_calls`, `final`, `cut`, `invalid` or `failed`" },
  "model.completed": {
    kind: "`tool_calls`, `final`, `cut` (part of an answer, truncated by the output limit), `invalid`, or `summary` of older messages",
    text: "what the model wrote, redacted",
    window: "which messages the next request sends",
    "transport?": "`native` or `plain`; not in a summary",
    "calls?": "requested calls with their ids and arguments, redacted; `repaired`: what was repaired in a call",
    "progress?": "text beside the calls",
    "written_as?": "format of calls written as text, such as `hermes` or `json`",
    "answer?": "the final answer, or this part of it",
    "message?": "why the reply is invalid",
    "advice?": "what the user can do if the next reply is invalid too",
    "redacted?": "whether something secret was replaced",
    "maker?": "for a native reply: its model, as in `AUTONOUS_MODEL`",
    "provider_parts?": "parts to send back to the provider unchanged, such as signed reasoning",
    "parts_dropped?": "true: such parts contained a secret and are not stored",
    "finish?": "why the model stopped: `stop` or `length`",
    "usage?": "tokens of this round; `estimated` if the provider gave none; null if no model was called",
    "cost?": "of this round, or null where no price is known",
    "latency_ms?": "time until the reply was complete",
    "problem?": "why the model could not write the summary",
    "provider?": "the model that answered, if any",
  },
  "model.failed": {
    kind: "`failed`",
    code: "`ModelFailed`, `Timeout`, `LimitReached` or `Cancelled`",
    message: "what happened, redacted",
    "reason?": "of `ModelFailed`: `key_refused`, `rate_limited` …",
    latency_ms: "time until it failed",
  },
  "model.switched": {
    from: "the model that did not answer",
    to: "the model used from now on",
    "reason?": "why: `quota`, `connection`, `server_error` …",
    message: "what happened, redacted",
  },
  "model.billed": {
    purpose: "purpose of the request: `round`, `summary` or `reverse_thinking`",
    outcome: "`failed` (no reply) or `answered`",
    provider: "provider and model",
    usage: "tokens as the provider billed them; `estimated` where it gave none",
    cost: "cost of the usage, or null where no price is known",
  },
  "tool_call.started": {
    ...CALL,
    arguments: "redacted; long values are shortened",
    actor: "who asks: user, chat, channel, model, host",
  },
  "tool_call.completed": {
    ...CALL,
    latency_ms: "duration of the call",
    exit_code: "exit code of a command; 0 for other calls",
    truncated_lines: "whether the output has more lines than were returned",
    truncated_bytes: "whether it has more bytes",
    "attachments?": "files for the person who asked: `artifact`, `name`, `media_type`, `bytes`, `sha256`, `caption`",
    ...AUDIT,
  },
  "tool_call.failed": {
    ...CALL,
    error: "`code`, `class`, `message`, `hint`, and `details` where there are any",
    error_class: "the class of the error code: [errors.md](errors.md)",
    redacted: "whether something secret was replaced",
    "cause?": "of an `InternalError`: what was thrown",
    ...AUDIT,
  },
  approval_required: {
    ...CALL,
    approval_id: "the request",
    digest: "SHA-256 of the request: an answer applies only to it",
    reason: "why approval is required",
    rule: "the rule or check that requires approval",
    expires_at: "when it expires and counts as denied, ISO 8601",
    request: "what is shown: parameters, changes, commands, offers (`ApprovalRequest`)",
  },
  approval_granted: { ...ANSWERED, "edited?": "true: the call was made with edited arguments" },
  approval_denied: { ...ANSWERED, "edited?": "true: the person had edited the arguments" },
  "skill.activated": {
    skill: "its name",
    source: "`user`: the user's own; `project`: part of the workspace, and trusted",
    digest: "digest of its files",
    reason: "why it is active",
    "tools?": "the allowed tools; absent if the skill does not restrict tools",
    "commands?": "the first words of the allowed commands",
    "notes?": "entries of its `allowed-tools` that match no tool",
    "tool_call_id?": "the call that read it",
  },
  display: {
    content: "the message, redacted",
    level: "`info`, `success`, `warning`, `error` or `progress`",
    "title?": "heading",
    "thought?": "why it is shown",
    "evidence?": "sources",
    "tool_call_id?": "the call; notices of the runtime have none",
  },
  todo: {
    items: "the steps: `text`, redacted, and `done`",
    content: "the same as text, one step per line",
    tool_call_id: "the call",
  },
  progress: {
    ...CALL,
    fraction: "from 0 to 1, or null if unknown",
    detail: "what the tool is doing, redacted; at most 500 characters",
  },
  "reply.sent": { channel: "the channel", "text?": "the reply", "file?": "`artifact`, `name`, `bytes`, `sha256`" },
  "undo.applied": {
    tool_call_id: "the call of `undo`",
    undo_ids: "the changes that were undone",
    files_changed: "paths",
  },
  "access.granted": { ...ACCESS, role: "`owner`: may grant access to others; `member`: may not" },
  "access.denied": { ...ACCESS, blocked: "whether the channel blocks this person from now on" },
  "access.revoked": { ...ACCESS, was: "`allowed`, `ignored` or `blocked`" },
  "upkeep.pruned": {
    setting: "the retention setting that applied: `AUTONOUS_KEEP_DAYS=30`",
    runs: "of each run: `run_id`, `task_id`, number of `events`, `first_ts`, `last_ts`, `last_hash`",
    "undo?": "`logs` and number of `changes` that can no longer be undone",
  },
  "upkeep.restored": {
    backup: "the folder",
    made_at: "when the backup was made, ISO 8601",
    lost: "runs missing from the backup",
    cut: "runs with fewer events in the backup than before",
  },
} as const satisfies Record<EventType, Readonly<Record<string, string>>>;
