/** Each event has the MAC of the user who recorded it. Older events have none. */
export const RECORD = `
alter table events add column mac text;
`;
