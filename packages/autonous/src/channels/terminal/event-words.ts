import type { RuntimeEvent } from "@autonous/runtime";

type Payload = RuntimeEvent["payload"];

/** A call as its event has it: the name, and what it was called with. */
export function callText({ tool_name, arguments: given, audit }: Payload): string {
  const params = given ?? (audit as { readonly params?: unknown } | undefined)?.params;
  return `${String(tool_name)} ${argumentsText(params)}`.trimEnd();
}

/** Arguments for people. Switches that are off are left out: they are as they were declared, and hide the rest. */
export function argumentsText(params: unknown): string {
  if (typeof params !== "object" || params === null) return "";
  return JSON.stringify(params, (_, value: unknown) => (value === false ? undefined : value));
}

/** How far a call says it is: `40 % what it does`. */
export function farText({ fraction, detail }: Payload): string {
  const percent = typeof fraction === "number" ? `${Math.floor(fraction * 100)} %` : "";
  return [percent, typeof detail === "string" ? detail.trim() : ""].filter((part) => part !== "").join(" ");
}

/** `code: message` of an event that tells of a failure, wherever it has them. */
export function problemOf(payload: Payload): string {
  const { error = payload } = payload;
  if (typeof error === "string") return error;
  const { code, message } = Object(error) as { readonly code?: string; readonly message?: string };
  return [code, message].filter((part) => typeof part === "string").join(": ");
}
