import fc from "fast-check";
import { expect, test } from "vitest";
import { checkValue, readText, SETTINGS, showSetting, withoutSecrets } from "./settings.ts";
import type { SettingName } from "./settings.ts";

const NAMES = Object.keys(SETTINGS) as SettingName[];

test("every default is a value that the setting may have", () => {
  for (const name of NAMES) {
    const { default: fallback } = SETTINGS[name];
    if (fallback !== undefined) expect(checkValue(name, fallback)).toEqual({ value: fallback });
  }
});

// oxfmt-ignore
const KNOWN_DEFAULTS = [
  { variable: "AUTONOUS_TOOL_TIMEOUT_SECONDS",  is: 30 },
  { variable: "AUTONOUS_TOOL_MAX_OUTPUT_LINES", is: 2000 },
  { variable: "AUTONOUS_TOOL_MAX_OUTPUT_BYTES", is: 51_200 },
  { variable: "TG_PENDING_WINDOW_SECONDS",      is: 600 },
  { variable: "TG_PENDING_MAX_MESSAGES",        is: 50 },
  { variable: "TASK_MAX_ATTEMPTS",              is: 3 },
  { variable: "TASK_RETRY_BASE_MS",             is: 2000 },
] as const;

test.each(KNOWN_DEFAULTS)("the default of $variable is $is", ({ variable, is }) => {
  expect(NAMES.filter((name) => SETTINGS[name].variable === variable).map((name) => SETTINGS[name].default)).toEqual([
    is,
  ]);
});

test("no two settings share a variable, and each has a meaning", () => {
  expect(new Set(NAMES.map((name) => SETTINGS[name].variable)).size).toBe(NAMES.length);
  for (const name of NAMES) expect(SETTINGS[name].meaning).not.toBe("");
});

// oxfmt-ignore
const TEXTS = [
  { name: "max_turns",          text: "12",           gives: { value: 12 } },
  { name: "max_turns",          text: " 12 ",         gives: { value: 12 } },
  { name: "max_turns",          text: "",             gives: { problem: 'has to be a whole number, not ""' } },
  { name: "max_turns",          text: "twelve",       gives: { problem: 'has to be a whole number, not "twelve"' } },
  { name: "max_turns",          text: "0x10",         gives: { problem: 'has to be a whole number, not "0x10"' } },
  { name: "max_turns",          text: "1e3",          gives: { problem: 'has to be a whole number, not "1e3"' } },
  { name: "max_turns",          text: "1.5",          gives: { problem: "has to be a whole number from 1 to 100000, not 1.5" } },
  { name: "max_turns",          text: "0",            gives: { problem: "has to be a whole number from 1 to 100000, not 0" } },
  { name: "max_turns",          text: "-1",           gives: { problem: "has to be a whole number from 1 to 100000, not -1" } },
  { name: "max_turns",          text: "100001",       gives: { problem: "has to be a whole number from 1 to 100000, not 100001" } },
  { name: "http_port",          text: "0",            gives: { value: 0 } },
  { name: "thinking",           text: " off ",        gives: { value: "off" } },
  { name: "thinking",           text: "8000",         gives: { value: 8000 } },
  { name: "thinking",           text: "1.5",          gives: { problem: 'has to be one of auto, off, on, or a whole number from 128 to 10000000, not "1.5"' } },
  { name: "thinking",           text: "high",         gives: { problem: 'has to be one of auto, off, on, or a whole number from 128 to 10000000, not "high"' } },
  { name: "thinking",           text: "0",            gives: { problem: "has to be one of auto, off, on, or a whole number from 128 to 10000000, not 0" } },
  { name: "effort",             text: "xhigh",        gives: { value: "xhigh" } },
  { name: "effort",             text: "most",         gives: { problem: 'has to be one of minimal, low, medium, high, xhigh, max, not "most"' } },
  { name: "max_output_tokens",  text: "32000",        gives: { value: 32_000 } },
  { name: "max_output_tokens",  text: "0",            gives: { problem: "has to be a whole number from 16 to 10000000, not 0" } },
  { name: "http_port",          text: "65536",        gives: { problem: "has to be a whole number from 0 to 65535, not 65536" } },
  { name: "profile",            text: "readonly",     gives: { value: "readonly" } },
  { name: "profile",            text: "Readonly",     gives: { problem: 'has to be one of readonly, guarded, autonomous, not "Readonly"' } },
  { name: "state_dir",          text: "state",        gives: { value: "state" } },
  { name: "state_dir",          text: " ",            gives: { problem: "has to be text that is not empty" } },
  { name: "tool_allowed_roots", text: "/a, /b ,",     gives: { value: ["/a", "/b", ""] } },
  { name: "telegram_allowed_users", text: "42, 7",    gives: { value: [42, 7] } },
  { name: "telegram_allowed_users", text: " ",        gives: { value: [] } },
  { name: "telegram_allowed_users", text: "7,",       gives: { problem: 'has to be user ids separated by commas; not valid: ""' } },
  { name: "telegram_allowed_users", text: "42,@ada",  gives: { problem: 'has to be user ids separated by commas; not valid: "@ada"' } },
  { name: "telegram_allowed_users", text: "-42",      gives: { problem: 'has to be user ids separated by commas; not valid: "-42"' } },
  { name: "telegram_allowed_users", text: "0",        gives: { problem: "has to be a list of whole numbers above 0" } },
  { name: "telegram_api_root",  text: "localhost:1",  gives: { problem: 'has to be an address that begins with http:// or https://, not "localhost:1"' } },
  { name: "telegram_api_root",  text: "http://[::1]:1", gives: { value: "http://[::1]:1" } },
  { name: "telegram_quiet_hours", text: "22:00-07:00", gives: { value: "22:00-07:00" } },
  { name: "telegram_quiet_hours", text: "at night",   gives: { problem: 'has to be hours such as "22:00-07:00" or "22:00-07:00 Europe/Berlin", not "at night"' } },
  { name: "telegram_token",     text: " 1:abc ",      gives: { value: "1:abc" } },
  { name: "telegram_token",     text: "",             gives: { problem: "is empty; leave it out, or set it" } },
  { name: "telegram_token",     text: "1:a b",        gives: { problem: "contains a character that is not printable ASCII, or a space" } },
] as const;

for (const { name, text, gives } of TEXTS) {
  test(`the text "${text}" for ${name} is parsed`, () => {
    expect(readText(name, text)).toEqual(gives);
  });
}

// oxfmt-ignore
const VALUES = [
  { name: "max_turns",          value: "12",          problem: 'has to be a whole number from 1 to 100000, not "12"' },
  { name: "max_turns",          value: null,          problem: "has to be a whole number from 1 to 100000, not null" },
  { name: "profile",            value: ["guarded"],   problem: 'has to be one of readonly, guarded, autonomous, not ["guarded"]' },
  { name: "model",              value: 5,             problem: "has to be text that is not empty" },
  { name: "tool_allowed_roots", value: "/a,/b",       problem: "has to be a list of absolute paths" },
  { name: "telegram_token",     value: "1:abc",       problem: "is a secret: it comes from the environment only, as AUTONOUS_TELEGRAM_TOKEN" },
  { name: "telegram_allowed_users", value: "42",      problem: "has to be a list of whole numbers above 0" },
  { name: "tool_allowed_roots", value: ["/a", 5],     problem: "has to be a list of absolute paths" },
] as const;

for (const { name, value, problem } of VALUES) {
  test(`the value ${JSON.stringify(value)} for ${name} is refused: a file has to have the right type`, () => {
    expect(checkValue(name, value)).toEqual({ problem });
  });
}

test("any value is accepted or refused with a reason", () => {
  fc.assert(
    fc.property(fc.constantFrom(...NAMES), fc.anything(), (name, value) => {
      const checked = checkValue(name, value);
      expect("value" in checked ? checked.value : value).toBe(value);
    }),
  );
});

test("a secret is not shown, and is not passed to processes that the service starts", () => {
  expect(showSetting("telegram_token", "1:abc")).toBe("set, not shown");
  expect(showSetting("telegram_token", undefined)).toBe("none");
  expect(showSetting("telegram_allowed_users", [42, 7])).toBe("42,7");
  expect(withoutSecrets({ AUTONOUS_TELEGRAM_TOKEN: "1:abc", PATH: "/bin" })).toEqual({ PATH: "/bin" });
});
