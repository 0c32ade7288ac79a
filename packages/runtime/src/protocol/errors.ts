import { boundText } from "./bounds.ts";

/** The class of an error code: who can fix it. */
export type ErrorClass = "validation" | "policy" | "timeout" | "tool_exec" | "unknown";

interface ErrorRow {
  readonly class: ErrorClass;
  /** What the caller can do next. */
  readonly hint: string;
}

/** Every way a call can fail (spec 1, Errors). A check keeps `docs/errors.md` in sync with this table. */
// oxfmt-ignore
export const ERRORS = {
  UnknownTool:            { class: "validation", hint: "Use one of the available tools; `autonous tools` lists them." },
  InvalidArguments:       { class: "validation", hint: "Fix the listed fields and retry." },
  InvalidCursor:          { class: "validation", hint: "Start again without a cursor." },
  VersionUnsupported:     { class: "validation", hint: "Omit `version`, or use a supported one." },
  InvalidReply:           { class: "validation", hint: "See docs/models.md: how to set up each server, and which tool calls it supports." },

  ToolNotAllowed:         { class: "policy", hint: "Use another tool, or ask the user to allow it in the profile or configuration." },
  ApprovalRequired:       { class: "policy", hint: "Ask the user to approve this exact call." },
  ApprovalDenied:         { class: "policy", hint: "Do not retry the same call; ask the user what to do instead." },
  ApprovalExpired:        { class: "policy", hint: "Retry the call so that it can be approved in time." },
  CheckpointDenied:       { class: "policy", hint: "The host's checkpoint handler must allow this call." },
  PathTraversalBlocked:   { class: "policy", hint: "Use a path inside the allowed roots." },
  SensitivePath:          { class: "policy", hint: "This path is off limits to all tools; continue without it." },
  CommandDenied:          { class: "policy", hint: "Use a non-destructive command instead." },
  NetworkDenied:          { class: "policy", hint: "Ask the user to add the address to the network allowlist." },
  QuotaExceeded:          { class: "policy", hint: "Wait until the quota resets, or ask the user to raise it." },
  SandboxUnavailable:     { class: "policy", hint: "Run `autonous doctor` to see how to install the sandbox." },
  ReverseThinkingStopped: { class: "policy", hint: "Take the stated reason into account and change the plan." },

  Timeout:                { class: "timeout", hint: "Do less per call, or set a longer timeout." },

  ExitNonZero:            { class: "tool_exec", hint: "Read the output to see why the command failed." },
  IOError:                { class: "tool_exec", hint: "Check the path; the operating system refused the operation." },
  FileTooLarge:           { class: "tool_exec", hint: "Work on a part of it." },
  NotFound:               { class: "tool_exec", hint: "List the parent folder to see what exists." },
  AlreadyExists:          { class: "tool_exec", hint: "Choose another name, or change the existing file." },
  Stale:                  { class: "tool_exec", hint: "Read the file again; it changed in the meantime." },
  NoMatch:                { class: "tool_exec", hint: "Read the file again and copy the text exactly." },
  AmbiguousMatch:         { class: "tool_exec", hint: "Add a line before or after, or set all." },
  PatchConflict:          { class: "tool_exec", hint: "Read the file again and rebuild the patch from its current content." },
  Interrupted:            { class: "tool_exec", hint: "Check what was done before you retry." },
  Cancelled:              { class: "tool_exec", hint: "The call was cancelled on request." },
  ModelFailed:            { class: "tool_exec", hint: "See the provider's message; retry later if it is overloaded." },
  LimitReached:           { class: "tool_exec", hint: "Raise the limit, or use a smaller task." },

  RecordFailed:           { class: "unknown", hint: "Fix the storage of the audit log (`autonous doctor` shows the problem), then check what was done before you retry." },
  InternalError:          { class: "unknown", hint: "This is a bug in the runtime or a tool, not in the call; please report it." },
} as const satisfies Record<string, ErrorRow>;

/** A code of `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

/** Facts about an error, for programs. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** `hint` and `replay` become fields of the error; all else is its `details`. */
export interface ErrorFacts extends ErrorDetails {
  readonly hint?: string;
  readonly replay?: string;
}

/**
 * The only error that tools and steps throw on purpose. `message` says what was attempted, on what, and why it failed;
 * of `facts`, `hint` and `replay` become fields and the rest `details`. Long messages are truncated.
 */
export class ToolError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;
  /** What the caller can do next. Default: the hint of the table. */
  readonly hint: string;
  /** The command line that makes the call once it is approved. Empty: there is none. */
  readonly replay: string;

  constructor(code: ErrorCode, message: string, facts?: ErrorFacts, cause?: unknown) {
    super(boundText(message), cause === undefined ? undefined : { cause });
    this.name = "ToolError";
    this.code = code;
    const { hint, replay } = facts ?? {};
    this.details = hint === undefined && replay === undefined ? facts : withoutFields(facts ?? {});
    // Tools may be untyped JavaScript.
    this.hint = typeof hint === "string" ? hint : ERRORS[code].hint;
    this.replay = typeof replay === "string" ? replay : "";
  }

  get class(): ErrorClass {
    return ERRORS[this.code].class;
  }
}

function withoutFields({ hint: _hint, replay: _replay, ...details }: ErrorFacts): ErrorDetails {
  return details;
}
