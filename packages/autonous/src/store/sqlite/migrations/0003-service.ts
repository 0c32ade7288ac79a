/** Links each lane to its newest task, and each task to the previous one. */
export const LINK_LANES = `
update inbox set previous = earlier.position
  from (select position as own, lag(position) over (partition by lane order by position) as position from inbox) as earlier
  where earlier.own = inbox.position;
update lanes set newest = last.position
  from (select lane, max(position) as position from inbox group by lane) as last where last.lane = lanes.lane;
`;

/** Stopping tasks, messages other than answers, searchable memory, and pruned runs. */
export const SERVICE = `
alter table inbox add column cancel_by text;
alter table inbox add column cancel_at integer;
-- The way back through a chat leads from task to task. An index by chat is written at another place for every chat, and
-- so costs the more the longer the chats are.
alter table lanes add column newest integer;
alter table inbox add column previous integer;
${LINK_LANES}
drop index history_lane;
create index inbox_stopping on inbox (lane) where cancel_by is not null and finished_at is null;
-- When the record of its run was taken out; the line stays, so that its message is not taken again.
alter table inbox add column forgotten_at integer;
create index inbox_kept on inbox (finished_at) where finished_at is not null and forgotten_at is null;

-- body: the text; or, of a file and a question, JSON.
alter table outbox add column kind text not null default 'text' check (kind in ('text', 'file', 'approval'));
alter table outbox add column attempts integer not null default 0;
alter table outbox add column next_at integer not null default 0;
alter table outbox add column error text;
alter table outbox add column gave_up_at integer;
alter table outbox add column receipt text;
alter table outbox add column approval_id text;
drop index outbox_unsent;
create index outbox_due on outbox (channel, chat, id) where sent_at is null and gave_up_at is null;
create index outbox_approval on outbox (approval_id) where approval_id is not null;

-- Audit records stand in these events: what searches them need not look at all others.
create index events_calls on events (position) where type in ('tool_call.completed', 'tool_call.failed');

-- What is left of the chain of a run that is no longer kept. Until removed_at the run itself may still be there.
create table forgotten_runs (
  run_id       text primary key,
  task_id      text not null,
  events       integer not null,
  first_ts     text,
  last_ts      text,
  last_hash    text not null,
  forgotten_at integer not null,
  removed_at   integer
) strict;
create index forgotten_runs_there on forgotten_runs (forgotten_at) where removed_at is null;
create index history_task on history (task_id);

-- Nothing was kept in it before this. The index names entries by their position, which no copy of the file changes.
drop table memory;
create table memory (
  position   integer primary key autoincrement,
  id         text not null unique,
  title      text not null,
  knowledge  text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index memory_newest on memory (created_at, id);
create index memory_title on memory (title);
create virtual table memory_words using fts5 (title, knowledge, content = 'memory', content_rowid = 'position', tokenize = 'unicode61 remove_diacritics 2');
create trigger memory_added after insert on memory begin
  insert into memory_words (rowid, title, knowledge) values (new.position, new.title, new.knowledge);
end;
create trigger memory_removed after delete on memory begin
  insert into memory_words (memory_words, rowid, title, knowledge) values ('delete', old.position, old.title, old.knowledge);
end;
create trigger memory_changed after update on memory begin
  insert into memory_words (memory_words, rowid, title, knowledge) values ('delete', old.position, old.title, old.knowledge);
  insert into memory_words (rowid, title, knowledge) values (new.position, new.title, new.knowledge);
end;
`;
