/**
 * Where a conversation of a lane begins: tasks behind position are not told what was said before it. And what a task is
 * to do instead of asking the model: undo what another one changed.
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
