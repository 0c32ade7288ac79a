import { expect, test } from "vitest";
import { readHours } from "./hours.ts";

// oxfmt-ignore
const TEXTS = [
  { text: "22:00-07:00",                 gives: { from_minute: 1320, to_minute: 420 } },
  { text: " 9:30 – 12:05 ",              gives: { from_minute: 570,  to_minute: 725 } },
  { text: "20:00-24:00",                 gives: { from_minute: 1200, to_minute: 0 } },
  { text: "22:00-07:00 Europe/Berlin",   gives: { from_minute: 1320, to_minute: 420, time_zone: "Europe/Berlin" } },
  { text: "22:00-07:00 Etc/GMT+5",       gives: { from_minute: 1320, to_minute: 420, time_zone: "Etc/GMT+5" } },
  { text: "22:00-07:00 Europe/Nowhere",  gives: undefined },
  { text: "22:00-22:00",                 gives: undefined },
  { text: "25:00-07:00",                 gives: undefined },
  { text: "22:60-07:00",                 gives: undefined },
  { text: "24:01-07:00",                 gives: undefined },
  { text: "22-7",                        gives: undefined },
  { text: "at night",                    gives: undefined },
] as const;

for (const { text, gives } of TEXTS) {
  test(`"${text}" is ${gives === undefined ? "refused" : JSON.stringify(gives)}`, () => {
    expect(readHours(text)).toEqual(gives);
  });
}
