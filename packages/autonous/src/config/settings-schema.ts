import { makePolicySchema } from "@autonous/runtime/internal";
import { z } from "zod";
import { MODEL_SETTINGS } from "./model-table.ts";
import { makePriceSchema } from "./price-table.ts";
import { FROM_PROJECT, SETTINGS } from "./settings.ts";
import type { Kind, SettingName } from "./settings.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** The URL of the published schema, for `$schema` in configuration files. */
const ID = "https://unpkg.com/autonous/schema/config.schema.json";

/** The JSON Schema of configuration files, from the settings table and the policy's own schema. */
export function makeConfigurationSchema(): JsonSchema {
  const { properties: policy } = z.toJSONSchema(makePolicySchema(), { io: "input" });
  const settings = (Object.keys(SETTINGS) as SettingName[])
    .filter((name) => SETTINGS[name].kind.type !== "secret") // files cannot contain secrets
    .map((name) => [name, settingSchema(name)]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: ID,
    title: "Configuration of Autonous",
    description:
      "The user's own $XDG_CONFIG_HOME/autonous/config.json, and .agent/config.json of a project, which may only narrow what the user's own allows until it is trusted.",
    type: "object",
    properties: {
      $schema: { type: "string" },
      ...Object.fromEntries(settings),
      ...withConditions(policy ?? {}),
      prices: makePriceSchema(),
      models: {
        description:
          "Settings per model, by its name: as AUTONOUS_MODEL names it, without the provider, or the bare model. From a project: no.",
        type: "object",
        additionalProperties: {
          type: "object",
          properties: Object.fromEntries(MODEL_SETTINGS.map((name) => [name, kindSchema(SETTINGS[name].kind)])),
          additionalProperties: false,
        },
      },
      modules: {
        description:
          "Files that export tools and handlers, relative to the folder of this file (of a project: to its own folder). Each is loaded once a person has trusted it, as it was then. From a project: once trusted.",
        type: "array",
        items: { type: "string", minLength: 1 },
        maxItems: 50,
      },
    },
    additionalProperties: false,
  };
}

function settingSchema(name: SettingName): JsonSchema {
  const { kind, meaning, default: fallback, project } = SETTINGS[name];
  return {
    description: `${meaning}. From a project: ${FROM_PROJECT[project]}.`,
    ...kindSchema(kind),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
}

function kindSchema(kind: Kind): JsonSchema {
  switch (kind.type) {
    case "url":
      return { type: "string", pattern: "^https?://" };
    case "hours":
      return { type: "string", pattern: "^\\s*\\d{1,2}:\\d\\d\\s*[-–]\\s*\\d{1,2}:\\d\\d(?:\\s+[\\w+/-]+)?\\s*$" };
    case "ids":
      return { type: "array", items: { type: "integer", minimum: 1 } };
    case "secret":
    case "text":
      return { type: "string", pattern: "\\S" };
    case "choice":
      return { type: "string", enum: kind.of };
    case "choice_or_number":
      return { anyOf: [{ enum: kind.of }, { type: "integer", minimum: kind.min, maximum: kind.max }] };
    case "folders":
      return { type: "array", items: { type: "string" }, minItems: 1 };
    case "number":
      return { type: "integer", minimum: kind.min, maximum: kind.max };
  }
}

/** Properties of a rule other than conditions. */
const NO_CONDITION: ReadonlySet<string> = new Set(["effect", "reason", "offer"]);
/** Properties of a quota other than limits. */
const NO_LIMIT: ReadonlySet<string> = new Set(["per", "window_seconds"]);

/** Code checks that a rule has a condition and a quota has a limit; the schema needs it added here. */
function withConditions(policy: Readonly<Record<string, unknown>>): JsonSchema {
  const { rules, quotas, ...rest } = policy as Readonly<Record<string, ListSchema>>;
  return {
    ...rest,
    ...(rules === undefined ? {} : { rules: needingOne(rules, NO_CONDITION) }),
    ...(quotas === undefined ? {} : { quotas: needingOne(quotas, NO_LIMIT) }),
  };
}

interface ObjectSchema {
  readonly properties?: JsonSchema;
  readonly anyOf?: readonly ObjectSchema[];
  readonly oneOf?: readonly ObjectSchema[];
}
interface ListSchema {
  readonly items?: ObjectSchema;
}

function needingOne({ items = {}, ...list }: ListSchema, except: ReadonlySet<string>): JsonSchema {
  const kinds = items.anyOf ?? items.oneOf ?? [items];
  const names = new Set(kinds.flatMap(({ properties = {} }) => Object.keys(properties)));
  const one = [...names].filter((name) => !except.has(name)).map((name) => ({ required: [name] }));
  return { ...list, items: { allOf: [items, { anyOf: one }] } };
}
