interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** Histograms only: the upper bounds, in seconds. */
  readonly buckets?: readonly number[];
}

/** From imperceptible to the default time limit of a task. */
const TASK_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];
const CALL_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600];
const MODEL_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Everything that `/metrics` reports. `docs/metrics.md` is made from this table. */
// oxfmt-ignore
export const METRICS = {
  autonous_tasks:                          { type: "gauge",     labels: ["state"],                help: "Open and dead-lettered tasks, by state" },
  autonous_oldest_queued_seconds:          { type: "gauge",     labels: [],                       help: "Waiting time of the oldest queued task; 0: none waits" },
  autonous_tasks_queued_total:             { type: "counter",   labels: ["channel"],              help: "Messages that became tasks; a manual retry does not count again" },
  autonous_task_attempts_total:            { type: "counter",   labels: ["kind"],                 help: "Attempts at tasks: first, after a failure or a manual retry (retry), after a wait or a crash (resumed)" },
  autonous_tasks_ended_total:              { type: "counter",   labels: ["outcome"],              help: "Ended tasks, by outcome: done, failed, cancelled, dead_letter" },
  autonous_task_wait_seconds:              { type: "histogram", labels: [],                       help: "Time from the message to the first attempt", buckets: TASK_SECONDS },
  autonous_task_duration_seconds:          { type: "histogram", labels: ["outcome"],              help: "Time from the first attempt to the end of the task, including waits for approval", buckets: TASK_SECONDS },
  autonous_tool_calls_total:               { type: "counter",   labels: ["tool", "outcome"],      help: "Tool calls, by tool and outcome: ok, or the error code; unknown tools count as other" },
  autonous_tool_call_duration_seconds:     { type: "histogram", labels: ["tool"],                 help: "Duration of the calls that ran", buckets: CALL_SECONDS },
  autonous_decisions_total:                { type: "counter",   labels: ["effect"],               help: "Policy decisions about calls" },
  autonous_approvals_total:                { type: "counter",   labels: ["answer"],               help: "Approvals: asked, granted, denied" },
  autonous_approvals_pending:              { type: "gauge",     labels: [],                       help: "Calls that wait for approval" },
  autonous_model_requests_total:           { type: "counter",   labels: ["model", "outcome"],     help: "Model requests, not counting retries: ok, or the reason of the failure" },
  autonous_model_request_duration_seconds: { type: "histogram", labels: ["model"],                help: "Duration of model requests, including retries", buckets: MODEL_SECONDS },
  autonous_model_tokens_total:             { type: "counter",   labels: ["model", "direction"],   help: "Tokens: in, out, and cached (the part of in that the provider had cached)" },
  autonous_model_cost_total:               { type: "counter",   labels: ["model"],                help: "Cost of the model, if it has a price, in the currency of the price table" },
  autonous_breaker_state:                  { type: "gauge",     labels: ["provider"],             help: "The circuit breaker of a provider: 0 closed, 1 half-open, 2 open" },
  autonous_outbox_pending:                 { type: "gauge",     labels: [],                       help: "Unsent answers, files, questions and shown messages" },
  autonous_oldest_unsent_seconds:          { type: "gauge",     labels: [],                       help: "Waiting time of the oldest unsent message; 0: none waits" },
  autonous_outbox_sends_total:             { type: "counter",   labels: ["channel", "outcome"],   help: "Attempts to send a message: sent or failed" },
  autonous_worker_up:                      { type: "gauge",     labels: [],                       help: "1 while a worker runs, else 0" },
  autonous_worker_ends_total:              { type: "counter",   labels: [],                       help: "Unexpected worker exits; each is followed by a restart" },
  autonous_store_bytes:                    { type: "gauge",     labels: [],                       help: "Size of the database and its log on disk" },
  autonous_resident_memory_bytes:          { type: "gauge",     labels: ["process"],              help: "Memory in use by the supervisor and by the worker" },
  autonous_start_time_seconds:             { type: "gauge",     labels: [],                       help: "Start time of the service, in seconds since the epoch; the counters began at 0 then" },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;
