/**
 * Messages that tools show are sent separately. SQLite cannot alter a check constraint, so the table is rebuilt; its
 * ids continue, because the state of a partly sent answer refers to its row.
 */
export const DISPLAY = `
create table outbox_next (
  id          integer primary key autoincrement,
  task_id     text not null references inbox (task_id),
  channel     text not null,
  chat        text not null,
  -- The text; or, of every other kind, JSON.
  body        text not null,
  dedupe      text not null unique,
  created_at  integer not null,
  sent_at     integer,
  kind        text not null default 'text' check (kind in ('text', 'file', 'approval', 'display')),
  attempts    integer not null default 0,
  next_at     integer not null default 0,
  error       text,
  gave_up_at  integer,
  receipt     text,
  approval_id text
) strict;
insert into outbox_next
  select id, task_id, channel, chat, body, dedupe, created_at, sent_at, kind, attempts, next_at, error, gave_up_at,
    receipt, approval_id from outbox;
delete from sqlite_sequence where name = 'outbox_next';
insert into sqlite_sequence (name, seq) select 'outbox_next', seq from sqlite_sequence where name = 'outbox';
drop table outbox;
alter table outbox_next rename to outbox;
create index outbox_task on outbox (task_id);
create index outbox_due on outbox (channel, chat, id) where sent_at is null and gave_up_at is null;
create index outbox_approval on outbox (approval_id) where approval_id is not null;
`;
