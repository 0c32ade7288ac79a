import type { Effect, Scope } from "../protocol/decision.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import type { CallFacts, DecisionSettings, ResolvedTouch, RuleOrigin, WorkspaceContext } from "./facts.ts";
import type { CompiledRule } from "./rules.ts";

/** What one check said, also where another one decided. */
export interface CheckVerdict {
  readonly check: string;
  readonly effect: Effect | "PASS";
  readonly reason: string;
}

/** What decides. */
export interface Verdict {
  readonly effect: Effect;
  /** With DENY. */
  readonly code?: ErrorCode;
  /** With REQUIRE_CONFIRMATION. */
  readonly scope?: Scope;
  /** A whole sentence, for the caller or for the person who is asked. */
  readonly reason: string;
  /** What decided: "floor:roots", "rule:3 (deny tool=ls)", "builtin:files_that_run_later", "profile:guarded:change". */
  readonly rule: string;
  /** Where it stands, when that is a rule of a file. */
  readonly origin?: RuleOrigin;
}

/** What the policy says to a call, with the verdict of every check. */
export interface Decision extends Verdict {
  /** Every check in order, also those after the one that decided. */
  readonly checks: readonly CheckVerdict[];
}

/** All that a check may look at. */
export interface Subject {
  readonly call: CallFacts;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
  /** The user's rule that speaks of this call. */
  readonly rule: CompiledRule | undefined;
}

export function allow(reason: string, rule: string): Verdict {
  return { effect: "ALLOW", reason, rule };
}

export function deny(code: ErrorCode, reason: string, rule: string): Verdict {
  return { effect: "DENY", code, reason, rule };
}

/** What a person grants is this one call; wider grants are theirs to give (spec 3, Approval). */
export function confirm(reason: string, rule: string): Verdict {
  return { effect: "REQUIRE_CONFIRMATION", scope: "call", reason, rule };
}

export function isChange(access: ResolvedTouch["access"]): boolean {
  return access === "write" || access === "delete";
}

/** Line breaks and other control characters of a path do not get to lay out the message. */
export function quote(path: string): string {
  return JSON.stringify(path);
}
