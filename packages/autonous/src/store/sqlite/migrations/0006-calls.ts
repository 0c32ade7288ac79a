/**
 * `retries`: how often a person retried a task. `result_json`: the full result of a call, previously in `output_text`,
 * which from now on has only its text (made by `textOfResult` for new calls).
 */
export const CALLS = `
alter table inbox add column retries integer not null default 0;
alter table tool_calls add column result_json text;
update tool_calls set result_json = output_text,
  output_text = case when json_valid(output_text) and json_type(output_text, '$.payload') = 'object' then
    coalesce(cast(json_extract(output_text, '$.payload.stdout') as text), '')
    || case when coalesce(json_extract(output_text, '$.payload.stdout'), '') <> ''
      and coalesce(json_extract(output_text, '$.payload.stderr'), '') <> '' then char(10) else '' end
    || coalesce(cast(json_extract(output_text, '$.payload.stderr') as text), '') end
  where output_text is not null;
`;
