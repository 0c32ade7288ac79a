import { expect, test } from "vitest";
import { loadConfiguration } from "../config/load.ts";
import { UsageError } from "./command.ts";
import { readLimits } from "./options.ts";

const { settings } = loadConfiguration({ XDG_CONFIG_HOME: "/nowhere" });

// oxfmt-ignore
const READ = [
  { options: {},                       gives: { max_turns: settings.max_turns, max_tokens: settings.max_tokens, max_wall_time_seconds: settings.max_wall_time_seconds } },
  { options: { maxTurns: "3" },        gives: { max_turns: 3 } },
  { options: { maxTokens: "5000000" }, gives: { max_tokens: 5_000_000 } },
  { options: { maxCost: "2.50" },      gives: { max_cost_cents: 250 } },
  { options: { maxCost: "3" },         gives: { max_cost_cents: 300 } },
  { options: { maxCost: "1.13" },      gives: { max_cost_cents: 113 } },
  { options: { maxWallTime: "90" },    gives: { max_wall_time_seconds: 90 } },
  { options: { maxWallTime: "90s" },   gives: { max_wall_time_seconds: 90 } },
  { options: { maxWallTime: "15m" },   gives: { max_wall_time_seconds: 900 } },
  { options: { maxWallTime: "2h" },    gives: { max_wall_time_seconds: 7200 } },
];

for (const { options, gives } of READ) {
  test(`${JSON.stringify(options)} gives ${JSON.stringify(gives)}`, () => {
    expect(readLimits(options, settings)).toMatchObject(gives);
  });
}

// oxfmt-ignore
const REFUSED = [
  { maxTurns: "0" }, { maxTurns: "1e2" }, { maxTurns: "" }, { maxTokens: "1.5" }, { maxTokens: "2000000000" },
  { maxCost: "0" }, { maxCost: "0.001" }, { maxCost: "-1" }, { maxCost: "$2" }, { maxCost: "Infinity" }, { maxCost: "99999999999" },
  { maxWallTime: "0" }, { maxWallTime: "2d" }, { maxWallTime: "h" }, { maxWallTime: "1.5h" }, { maxWallTime: "999999999h" },
];

for (const options of REFUSED) {
  test(`${JSON.stringify(options)} is refused`, () => {
    expect(() => readLimits(options, settings)).toThrow(UsageError);
  });
}
