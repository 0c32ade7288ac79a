import type { EventType } from "./events.ts";

const CALL = {
  tool_call_id: "the call",
  tool_name: "the tool's own name, whatever alias was used",
} as const;

const ACCESS = {
  channel: "the channel",
  user: "the person's id there",
  name: "the name that they gave themselves there, redacted",
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
  digest: "SHA-256 of what was shown: the answer counts for exactly that",
  scope: "how long a yes counts: `call`, `run`, `session`; null for a no",
  by: "who answered; null where it is not known",
  via: "where: `terminal`, `http`, `telegram` …; null where it is not known",
  reason: "what they said; may be empty",
} as const;

const ENDED = {
  attempts: "attempts so far, counted from 1 again where a person put the task back",
  crashes: "workers lost while they ran it",
} as const;

const TAKEN = {
  "worker?": "the worker, in the service",
  "attempt?": "number of the attempt, in the service",
  "crashes?": "workers lost before, in the service",
  "retries?": "how often a person put the task back, where one did",
  "source?": "`terminal`, where a run or chat is resumed there",
} as const;

/**
 * The fields of each event's payload; a name that ends in `?` is not in all of them. `docs/events.md` is made from this
 * table, and a test holds recorded events to it.
 */
export const EVENT_PAYLOADS = {
  "task.queued": {
    source: "the channel: `http`, `telegram` …",
    lane: "the chat; its tasks run one at a time",
    external_id: "the channel's own id of the message, or null",
    user: "who asked, or null",
    "skill?": "the skill that the task names",
    "by?": "who put the task back, where a person did",
    "undoes?": "the run whose changes the task undoes, instead of asking the model",
  },
  "task.started": TAKEN,
  "task.resumed": TAKEN,
  "task.retry_scheduled": {
    attempts: ENDED.attempts,
    error: "why it failed",
    retry_at: "when it runs again, ISO 8601",
  },
  "task.dead_lettered": { ...ENDED, error: "why it was given up" },
  "task.waiting_approval": { approval_ids: "the requests that are pending" },
  "task.completed": ENDED,
  "task.failed": { ...ENDED, error: "why" },
  "task.cancelled": { ...ENDED, error: "why", "by?": "who stopped it", "dropped?": "true: it had failed before" },
  "agent.started": {
    task: "what was asked for, redacted",
    provider: "provider and model",
    limits: "turns, time, tokens and cost that end the run",
    project:
      "what the model is shown of the workspace: `notes` (with those that were `skipped`), `skills`, and what it looks like",
    "history?": "number of earlier messages",
    "window?": "which of them are shown",
    "parent_run_id?": "the run that this one is a part of",
    "source?": "`chat`, where it is a message of a chat at a terminal",
  },
  "agent.completed": {
    answer: "the final answer, redacted",
    "cut?": "true: the output limit cut the answer off, and its end is missing",
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
    kind: "`tool_calls`, `final`, `cut` (a piece of an answer, cut off by the output limit), `invalid`, or `summary` of older messages",
    text: "what the model wrote, redacted",
    window: "which messages the next request shows",
    "transport?": "`native` or `plain`; not in a summary",
    "calls?": "calls that it asked for, with their ids and arguments, redacted; `repaired`: what was repaired in one",
    "progress?": "text beside the calls",
    "written_as?": "the calls were written as text: in whose form, such as `hermes` or `json`",
    "answer?": "the final answer, or this piece of it",
    "message?": "why the reply is invalid",
    "advice?": "what the user can do if the next reply is invalid too",
    "redacted?": "whether something secret was replaced",
    "maker?": "of a native reply: the model that made it, as `AUTONOUS_MODEL` names it",
    "provider_parts?": "what the provider wants back unchanged, such as signed reasoning",
    "parts_dropped?": "true: such parts held a secret and are not kept",
    "finish?": "why the model stopped: `stop` or `length`",
    "usage?": "tokens of this round; `estimated` where the provider gave none; null where none was asked",
    "cost?": "of this round, or null where no price is known",
    "latency_ms?": "time until the reply was complete",
    "problem?": "why the model could not write the summary",
    "provider?": "the model that answered; not where none did",
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
    to: "the model that is asked from now on",
    "reason?": "why: `quota`, `connection`, `server_error` …",
    message: "what happened, redacted",
  },
  "model.billed": {
    purpose: "what was asked for: `round`, `summary` or `reverse_thinking`",
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
    latency_ms: "how long the call took",
    exit_code: "of a command; 0 of other calls",
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
    digest: "SHA-256 of what is shown: an answer counts for exactly that",
    reason: "why a person is asked",
    rule: "the rule or check that asks",
    expires_at: "when it counts as a no, ISO 8601",
    request: "what is shown: parameters, changes, commands, offers (`ApprovalRequest`)",
  },
  approval_granted: { ...ANSWERED, "edited?": "true: the call was made with other arguments" },
  approval_denied: { ...ANSWERED, "edited?": "true: the person had given other arguments" },
  "skill.activated": {
    skill: "its name",
    source: "`user`: the person's own; `project`: it came with the workspace, and is trusted",
    digest: "of its files",
    reason: "why it is active",
    "tools?": "the tools that are left; without it the skill restricts none",
    "commands?": "the first words of the commands that are left",
    "notes?": "what of its `allowed-tools` is not a tool here",
    "tool_call_id?": "the call that read it",
  },
  display: {
    content: "what is shown, redacted",
    level: "`info`, `success`, `warning`, `error` or `progress`",
    "title?": "a line above it",
    "thought?": "why it is shown",
    "evidence?": "what it rests on",
    "tool_call_id?": "the call; notices of the runtime have none",
  },
  todo: {
    items: "the steps: `text`, redacted, and `done`",
    content: "the same as text, one step per line",
    tool_call_id: "the call",
  },
  progress: {
    ...CALL,
    fraction: "from 0 to 1, or null where it is not known",
    detail: "what the tool says it does, redacted; at most 500 characters",
  },
  "reply.sent": { channel: "the channel", "text?": "the reply", "file?": "`artifact`, `name`, `bytes`, `sha256`" },
  "undo.applied": {
    tool_call_id: "the call of `undo`",
    undo_ids: "the changes that were undone",
    files_changed: "paths",
  },
  "access.granted": { ...ACCESS, role: "`owner`: may let others in; `member`: may not" },
  "access.denied": { ...ACCESS, blocked: "whether the channel ignores them from now on" },
  "access.revoked": { ...ACCESS, was: "`allowed`, `ignored` or `blocked`" },
  "upkeep.pruned": {
    setting: "the setting that made it due: `AUTONOUS_KEEP_DAYS=30`",
    runs: "of each run: `run_id`, `task_id`, number of `events`, `first_ts`, `last_ts`, `last_hash`",
    "undo?": "`logs` and number of `changes` that can no longer be undone",
  },
  "upkeep.restored": {
    backup: "the folder",
    made_at: "when the backup was made, ISO 8601",
    lost: "runs that the backup does not have",
    cut: "runs that had more events than the backup has",
  },
} as const satisfies Record<EventType, Readonly<Record<string, string>>>;
