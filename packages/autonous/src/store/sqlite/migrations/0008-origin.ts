/** What a channel has to know of the message that a task came from, to answer it. */
export const ORIGIN = `
alter table inbox add column origin text;
`;
