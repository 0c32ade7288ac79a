import { boundText } from "./bounds.ts";

/** The class of an error code: who can do something about it. */
export type ErrorClass = "validation" | "policy" | "timeout" | "tool_exec" | "unknown";

interface ErrorRow {
  readonly class: ErrorClass;
  /** What the caller can do next. */
  readonly hint: string;
}

/** Every way a call can fail (spec 1, Errors). `docs/errors.md` is held to this table by a check. */
// oxfmt-ignore
export const ERRORS = {
  UnknownTool:            { class: "validation", hint: "Use one of the tools that are offered; `autonous tools` lists them." },
  InvalidArguments:       { class: "validation", hint: "Mend the named fields and call again." },
  InvalidCursor:          { class: "validation", hint: "Start again without a cursor." },
  VersionUnsupported:     { class: "validation", hint: "Leave `version` out, or name one that is served." },
  InvalidReply:           { class: "validation", hint: "See docs/models.md: how to set up each server, and which tool calls it supports." },

  ToolNotAllowed:         { class: "policy", hint: "Use another tool, or have the tool allowed by the profile or configuration." },
  ApprovalRequired:       { class: "policy", hint: "Have a person approve this exact call." },
  ApprovalDenied:         { class: "policy", hint: "Do not try the same call again; ask what is wanted instead." },
  ApprovalExpired:        { class: "policy", hint: "Make the call again so that it can be approved in time." },
  CheckpointDenied:       { class: "policy", hint: "The checkpoint handler of the host has to let this call through." },
  PathTraversalBlocked:   { class: "policy", hint: "Use a path inside the allowed roots." },
  SensitivePath:          { class: "policy", hint: "This place is closed to every tool; work without it." },
  CommandDenied:          { class: "policy", hint: "Reach the goal with a command that does not destroy what cannot be brought back." },
  NetworkDenied:          { class: "policy", hint: "Have the address added to the network allowlist." },
  QuotaExceeded:          { class: "policy", hint: "Wait until the quota allows calls again, or have it raised." },
  SandboxUnavailable:     { class: "policy", hint: "Run `autonous doctor` to see how to install the sandbox." },
  ReverseThinkingStopped: { class: "policy", hint: "Take the stated reason into account and change the plan." },

  Timeout:                { class: "timeout", hint: "Do less in one call, or allow more time." },

  ExitNonZero:            { class: "tool_exec", hint: "Read the output to see why the command failed." },
  IOError:                { class: "tool_exec", hint: "Look at the named path; the operating system refused the operation." },
  FileTooLarge:           { class: "tool_exec", hint: "Work on a part of it." },
  NotFound:               { class: "tool_exec", hint: "List the folder above it to see what is there." },
  AlreadyExists:          { class: "tool_exec", hint: "Choose another name, or change what is there." },
  Stale:                  { class: "tool_exec", hint: "Read the file again; it changed in the meantime." },
  NoMatch:                { class: "tool_exec", hint: "Read the file again and copy the text exactly." },
  AmbiguousMatch:         { class: "tool_exec", hint: "Add a line before or after, or set all." },
  PatchConflict:          { class: "tool_exec", hint: "Read the file again and make the patch against what is there." },
  Interrupted:            { class: "tool_exec", hint: "Look at what was done before deciding whether to call again." },
  Cancelled:              { class: "tool_exec", hint: "The call was stopped on request." },
  ModelFailed:            { class: "tool_exec", hint: "Look at the provider's message; try again later if it is overloaded." },
  LimitReached:           { class: "tool_exec", hint: "Raise the named limit, or give a smaller task." },

  RecordFailed:           { class: "unknown", hint: "Mend where the record is kept (`autonous doctor` tells what is wrong), then look at what was done before you call again." },
  InternalError:          { class: "unknown", hint: "This is a fault of the runtime or of a tool, not of the call; please report it." },
} as const satisfies Record<string, ErrorRow>;

/** A code of `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

export type ErrorDetails = Readonly<Record<string, unknown>>;

/**
 * The only thing a tool or a step throws on purpose.
 * `message` says what was being done, on what, and why it could not be; facts go into `details`. A `hint` among them
 * is told instead of the table's, where this case knows better what to do next. A message of any length is cut.
 */
export class ToolError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, details?: ErrorDetails, cause?: unknown) {
    super(boundText(message), cause === undefined ? undefined : { cause });
    this.name = "ToolError";
    this.code = code;
    this.details = details;
  }

  get class(): ErrorClass {
    return ERRORS[this.code].class;
  }

  get hint(): string {
    const own = this.details?.["hint"];
    return typeof own === "string" ? own : ERRORS[this.code].hint;
  }
}
