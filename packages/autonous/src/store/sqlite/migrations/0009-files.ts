/**
 * Files that came with a message, and messages that belong to another one: the further pictures of an album, the rest of
 * a text that was too long for one message. Each of those has an id of its own, by which it is not taken twice.
 */
export const FILES = `
alter table inbox add column files text;
create table inbox_parts (
  source      text not null,
  external_id text not null,
  task_id     text not null references inbox (task_id),
  primary key (source, external_id)
) strict;
`;
