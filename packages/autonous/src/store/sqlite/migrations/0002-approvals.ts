/** Approvals that park a task, grants, and quota usage. The table of approvals was unused before. */
export const APPROVALS = `
drop table approvals;
create table approvals (
  position     integer primary key autoincrement,
  approval_id  text not null unique,
  run_id       text not null,
  tool_call_id text not null,
  digest       text not null,
  state        text not null check (state in ('pending', 'granted', 'used', 'denied', 'expired', 'withdrawn')),
  request_json text not null,
  answer_json  text,
  expires_at   integer not null,
  answered_at  integer
) strict;
create index approvals_call on approvals (run_id, tool_call_id);
create index approvals_open on approvals (state, expires_at) where state in ('pending', 'granted');
create index approvals_granted on approvals (digest) where state = 'granted';

create table grants (
  position   integer primary key autoincrement,
  grant_id   text not null unique,
  scope      text not null check (scope in ('run', 'session')),
  run_id     text not null,
  session    text not null,
  grant_json text not null,
  revoked_at integer
) strict;
create index grants_run on grants (run_id) where revoked_at is null and scope = 'run';
create index grants_session on grants (session) where revoked_at is null and scope = 'session';

-- Added up over short spans of time, so that its size does not grow with the number of calls.
create table quota_use (
  per           text not null check (per in ('run', 'chat', 'user')),
  holder        text not null,
  since         integer not null,
  calls         integer not null,
  executions    integer not null,
  tokens        integer not null,
  bytes_written integer not null,
  primary key (per, holder, since)
) strict, without rowid;
`;
