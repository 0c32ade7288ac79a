/** Each event carries the mac of the user who recorded it. Events of before have none. */
export const RECORD = `
alter table events add column mac text;
`;
