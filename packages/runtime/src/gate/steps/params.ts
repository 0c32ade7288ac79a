import { excerptHead } from "../../output/excerpt.ts";
import type { GateCall, GateParts } from "../call.ts";

const LONG_BYTES = 4096; // spec 1: events show an excerpt of longer arguments

/** The arguments as shown in events: redacted, and if long an excerpt with a reference. Computed once. */
export function shortenParams(call: GateCall, parts: GateParts): unknown {
  call.short_params ??= { value: shorten(call, parts) };
  return call.short_params.value;
}

function shorten(call: GateCall, { folder, redactor }: GateParts): unknown {
  call.params ??= redactor.redactValue(call.request.args).value;
  const text = JSON.stringify(call.params);
  if (text.length <= LONG_BYTES && Buffer.byteLength(text) <= LONG_BYTES) return call.params;
  const { storage_ref, sha256 } = folder.putAside(`${call.request.tool_call_id}.arguments.json`, text);
  call.stored = { ...call.stored, [storage_ref]: sha256 };
  return { excerpt: excerptHead(text, { lines: 1, bytes: LONG_BYTES }).text, storage_ref, sha256 };
}
