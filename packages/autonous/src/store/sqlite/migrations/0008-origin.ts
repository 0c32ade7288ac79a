/** Data that a channel needs to answer the message of a task. */
export const ORIGIN = `
alter table inbox add column origin text;
`;
