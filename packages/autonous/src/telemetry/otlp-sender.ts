import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import type { HrTime, SpanContext } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { EventSpan } from "./spans.ts";
import type { SpanSender } from "./traces.ts";

/** Timeout of a collector, retries included. Short, because a process that shuts down may have to wait for it. */
const TIMEOUT_MS = 3000;

/** Sends OTLP over HTTP, as JSON. The exporter reads the endpoint and headers from the standard variables. */
export function createOtlpSender(environment: NodeJS.ProcessEnv): SpanSender {
  const exporter = new OTLPTraceExporter(
    isSet(environment["OTEL_EXPORTER_OTLP_TIMEOUT"]) ? {} : { timeoutMillis: TIMEOUT_MS },
  );
  const resource = resourceFromAttributes({
    ...resourceAttributes(environment["OTEL_RESOURCE_ATTRIBUTES"]),
    "service.name": serviceName(environment),
  });
  return {
    async send(spans) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      exporter.export(
        spans.map((span) => readable(span, resource)),
        ({ code, error }) => {
          const outcome: number = code;
          if (outcome === 0) resolve();
          else reject(error ?? new Error("the collector rejected them"));
        },
      );
      await promise;
    },
    close: async () => await exporter.shutdown(),
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

function serviceName(environment: NodeJS.ProcessEnv): string {
  const { OTEL_SERVICE_NAME: name = "", OTEL_RESOURCE_ATTRIBUTES: attributes } = environment;
  return name === "" ? (resourceAttributes(attributes)["service.name"] ?? "autonous") : name;
}

/** `key=value,key=value`, each percent-encoded. Unreadable pairs are skipped, as the specification requires. */
function resourceAttributes(text = ""): Readonly<Record<string, string>> {
  const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=(.*)$/s.exec(pair));
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      if (pair === null) return [];
      try {
        return [[pair[1] ?? "", decodeURIComponent((pair[2] ?? "").trim())]];
      } catch {
        return []; // an invalid percent-encoding
      }
    }),
  );
}

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

function readable(span: EventSpan, resource: Resource): ReadableSpan {
  const { trace_id, span_id, parent_span_id, startMs, endMs, error_type } = span;
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => contextOf(trace_id, span_id),
    ...(parent_span_id === undefined ? {} : { parentSpanContext: contextOf(trace_id, parent_span_id) }),
    startTime: timeOf(startMs),
    endTime: timeOf(endMs),
    duration: timeOf(endMs - startMs),
    status:
      error_type === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error_type },
    attributes: {
      ...withLists(span.attributes),
      ...(error_type === undefined ? {} : { "error.type": error_type }),
    },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: "autonous" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** The library expects mutable arrays. */
function withLists(attributes: EventSpan["attributes"]): Record<string, string | number | string[]> {
  const entries = Object.entries(attributes);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === "string" || typeof value === "number" ? value : [...value]]),
  );
}

function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function timeOf(ms: number): HrTime {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)];
}
