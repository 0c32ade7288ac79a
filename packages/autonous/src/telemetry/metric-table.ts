interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** Of a histogram: the upper bounds, in seconds. */
  readonly buckets?: readonly number[];
}

/** From what a person does not notice to the longest that a task in hand may take. */
const TASK_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];
const CALL_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600];
const MODEL_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Everything that `/metrics` tells. `docs/metrics.md` is made from this table. */
// oxfmt-ignore
export const METRICS = {
  autonous_tasks:                          { type: "gauge",     labels: ["state"],                help: "Tasks that are not over, and dead letters, by state" },
  autonous_oldest_queued_seconds:          { type: "gauge",     labels: [],                       help: "How long the task has waited that has waited longest to begin; 0: none waits" },
  autonous_tasks_queued_total:             { type: "counter",   labels: ["channel"],              help: "Messages that became tasks; one that a person retries is not a new one" },
  autonous_task_attempts_total:            { type: "counter",   labels: ["kind"],                 help: "How often a worker took a task: first, again after a failure or because a person retried it (retry), again after a wait or a crash (resumed)" },
  autonous_tasks_ended_total:              { type: "counter",   labels: ["outcome"],              help: "Tasks that ended, by how: done, failed, cancelled, dead_letter" },
  autonous_task_wait_seconds:              { type: "histogram", labels: [],                       help: "From the message to the first worker that took the task", buckets: TASK_SECONDS },
  autonous_task_duration_seconds:          { type: "histogram", labels: ["outcome"],              help: "From the first worker that took the task to its end, waiting for people included", buckets: TASK_SECONDS },
  autonous_tool_calls_total:               { type: "counter",   labels: ["tool", "outcome"],      help: "Calls, by tool and outcome: ok, or the code of the error; names that no tool has are other" },
  autonous_tool_call_duration_seconds:     { type: "histogram", labels: ["tool"],                 help: "How long calls took that ran", buckets: CALL_SECONDS },
  autonous_decisions_total:                { type: "counter",   labels: ["effect"],               help: "What the policy said of calls" },
  autonous_approvals_total:                { type: "counter",   labels: ["answer"],               help: "Calls that a person was asked about: asked, granted, denied" },
  autonous_approvals_pending:              { type: "gauge",     labels: [],                       help: "Calls that wait for a person" },
  autonous_model_requests_total:           { type: "counter",   labels: ["model", "outcome"],     help: "Requests to the model, retries not counted: ok, or why there was no answer" },
  autonous_model_request_duration_seconds: { type: "histogram", labels: ["model"],                help: "How long the model took to answer, retries included", buckets: MODEL_SECONDS },
  autonous_model_tokens_total:             { type: "counter",   labels: ["model", "direction"],   help: "Tokens: in, out, and of those in the ones that the provider had cached" },
  autonous_model_cost_total:               { type: "counter",   labels: ["model"],                help: "What the model cost, in the currency of the price table, where it has a price" },
  autonous_breaker_state:                  { type: "gauge",     labels: ["provider"],             help: "The circuit breaker of a provider: 0 closed, 1 half-open, 2 open" },
  autonous_outbox_pending:                 { type: "gauge",     labels: [],                       help: "Answers, files, questions and shown messages that no channel has taken yet" },
  autonous_oldest_unsent_seconds:          { type: "gauge",     labels: [],                       help: "How long the oldest of them has waited; 0: none waits" },
  autonous_outbox_sends_total:             { type: "counter",   labels: ["channel", "outcome"],   help: "Attempts to send something: sent or failed" },
  autonous_worker_up:                      { type: "gauge",     labels: [],                       help: "1 while a worker runs, else 0" },
  autonous_worker_ends_total:              { type: "counter",   labels: [],                       help: "How often a worker ended that should not have; another one was started" },
  autonous_store_bytes:                    { type: "gauge",     labels: [],                       help: "Size of the database and its log on disk" },
  autonous_resident_memory_bytes:          { type: "gauge",     labels: ["process"],              help: "Memory in use by the supervisor and by the worker" },
  autonous_start_time_seconds:             { type: "gauge",     labels: [],                       help: "When the service started, in seconds since the epoch; the counters began at 0 then" },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;
