/** The skill that restricts a task from its start. */
export const SKILL = `
alter table inbox add column skill text;
`;
