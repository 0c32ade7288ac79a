/**
 * Where a conversation of a lane starts: tasks after `position` do not get earlier messages. And tasks that undo the
 * changes of another task instead of asking the model.
 */
export const TALK = `
create table conversations (
  lane        text not null,
  external_id text not null,
  position    integer not null,
  started_by  text not null,
  created_at  integer not null,
  primary key (lane, external_id)
) strict;
create index conversations_position on conversations (lane, position);
alter table inbox add column undoes text;
`;
