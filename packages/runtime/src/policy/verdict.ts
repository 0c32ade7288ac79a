import type { Effect, Scope } from "../protocol/decision.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import type { CallFacts, DecisionSettings, ResolvedTouch, RuleOrigin, WorkspaceContext } from "./facts.ts";
import type { CompiledRule } from "./rules/rules.ts";

/** The result of one check, even if another one decided. */
export interface CheckVerdict {
  readonly check: string;
  readonly effect: Effect | "PASS";
  readonly reason: string;
}

/** The result that decides. */
export interface Verdict {
  readonly effect: Effect;
  /** With DENY. */
  readonly code?: ErrorCode;
  /** With REQUIRE_CONFIRMATION. */
  readonly scope?: Scope;
  /** A full sentence, for the caller or for the user who approves. */
  readonly reason: string;
  /** What decided: "floor:roots", "rule:3 (deny tool=ls)", "builtin:files_that_run_later", "profile:guarded:change". */
  readonly rule: string;
  /** Where the rule is defined, if it comes from a file. */
  readonly origin?: RuleOrigin;
}

/** The policy's decision on a call, with the verdict of every check. */
export interface Decision extends Verdict {
  /** Every check in order, also those after the one that decided. */
  readonly checks: readonly CheckVerdict[];
}

/** Everything that a check may use. */
export interface Subject {
  readonly call: CallFacts;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
  /** The user's rule that matches this call. */
  readonly rule: CompiledRule | undefined;
}

export function allow(reason: string, rule: string): Verdict {
  return { effect: "ALLOW", reason, rule };
}

export function deny(code: ErrorCode, reason: string, rule: string): Verdict {
  return { effect: "DENY", code, reason, rule };
}

/** An approval covers this one call by default; only the user can widen it (spec 3, Approval). */
export function confirm(reason: string, rule: string): Verdict {
  return { effect: "REQUIRE_CONFIRMATION", scope: "call", reason, rule };
}

export function isChange(access: ResolvedTouch["access"]): boolean {
  return access === "write" || access === "delete";
}

/** Escapes line breaks and other control characters of a path, so that they cannot alter the message. */
export function quote(path: string): string {
  return JSON.stringify(path);
}
