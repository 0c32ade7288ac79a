/**
 * Files that came with a message, and messages that belong to another one: further images of an album, or the rest of a
 * text that was too long for one message. Each has its own id, so that it is not accepted twice.
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
