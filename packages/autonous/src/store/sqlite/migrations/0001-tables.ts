/**
 * Tables of spec 4. Times are milliseconds since the epoch. `position` is the order of arrival: ids from several
 * processes are not ordered. Text columns named *_json contain JSON.
 */
export const TABLES = `
create table workers (
  id      text primary key,
  beat_at integer not null
) strict;

-- A lane is a chat: its tasks run one at a time, in order. It is held by a worker, or waits for one from ready_at on,
-- or has nothing to do. The token rises with every lease, and a write that carries an older one is refused.
create table lanes (
  lane      text primary key,
  ready_at  integer,
  worker    text references workers (id),
  token     integer not null default 0,
  leased_at integer
) strict;
create index lanes_ready on lanes (ready_at, lane) where worker is null and ready_at is not null;
create index lanes_held on lanes (worker) where worker is not null;

create table inbox (
  position    integer primary key autoincrement,
  task_id     text not null unique,
  run_id      text not null unique,
  trace_id    text not null,
  source      text not null,
  external_id text,
  lane        text not null references lanes (lane),
  "user"      text,
  text        text not null,
  state       text not null check (state in ('queued', 'in_progress', 'model_round', 'tool_round', 'waiting_approval',
                'reply_sent', 'done', 'failed', 'cancelled', 'dead_letter')),
  attempts    integer not null default 0,
  crashes     integer not null default 0,
  error       text,
  run_at      integer not null,
  created_at  integer not null,
  started_at  integer,
  finished_at integer,
  unique (source, external_id)
) strict;
create index inbox_open on inbox (lane, position) where finished_at is null;
create index inbox_state on inbox (state, position);

create table history (
  id         integer primary key autoincrement,
  lane       text not null,
  task_id    text not null references inbox (task_id),
  role       text not null check (role in ('user', 'assistant')),
  text       text not null,
  created_at integer not null
) strict;
create index history_lane on history (lane, id);

create table kv (
  key        text primary key,
  value      text not null,
  updated_at integer not null
) strict;

create table events (
  position  integer primary key autoincrement,
  event_id  text not null unique,
  run_id    text not null,
  seq       integer not null,
  ts        text not null,
  type      text not null,
  trace_id  text not null,
  task_id   text,
  parent_id text,
  payload   text not null,
  prev_hash text not null,
  hash      text not null,
  unique (run_id, seq)
) strict;
create index events_task on events (task_id, position) where task_id is not null;

-- An id is the caller's to choose, so it is only unique within its run.
create table tool_calls (
  id             text not null,
  run_id         text not null,
  task_id        text,
  tool_name      text not null,
  arguments_json text,
  status         text not null check (status in ('queued', 'running', 'done', 'failed')),
  output_text    text,
  error          text,
  started_at     integer,
  finished_at    integer,
  primary key (run_id, id)
) strict;
create index tool_calls_task on tool_calls (task_id) where task_id is not null;

create table task_audit (
  id         integer primary key autoincrement,
  task_id    text not null,
  phase      text not null check (phase in ('ingress', 'model', 'tool', 'reply', 'done', 'failed')),
  message    text not null,
  created_at integer not null
) strict;
create index task_audit_task on task_audit (task_id, id);

create table approvals (
  approval_id  text primary key,
  run_id       text not null,
  task_id      text,
  tool_call_id text not null,
  digest       text not null,
  request_json text not null,
  created_at   integer not null,
  expires_at   integer not null,
  answer       text check (answer in ('grant', 'deny')),
  scope        text check (scope in ('call', 'run', 'session')),
  reason       text,
  answered_by  text,
  answered_at  integer
) strict;
create index approvals_pending on approvals (expires_at) where answered_at is null;

create table outbox (
  id         integer primary key autoincrement,
  task_id    text not null references inbox (task_id),
  channel    text not null,
  chat       text not null,
  body       text not null,
  dedupe     text not null unique,
  created_at integer not null,
  sent_at    integer
) strict;
create index outbox_unsent on outbox (channel, chat, id) where sent_at is null;
create index outbox_task on outbox (task_id);

create table memory (
  id         text primary key,
  title      text not null,
  knowledge  text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
`;
