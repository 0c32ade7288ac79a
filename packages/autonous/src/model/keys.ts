import { ToolError } from "@autonous/runtime";

type Environment = Readonly<Record<string, string | undefined>>;

interface AccessRow {
  /** Variables for the key: the first one that is set is used. Errors about a missing key name the first. */
  readonly keys: readonly string[];
  readonly needsKey: boolean;
  /** Variable for another server; none if the setting itself names it. */
  readonly base?: string;
  readonly server?: string;
  /** Default path of a server's URL. */
  readonly path: string;
}

/** Servers and environment variables per provider kind. Keys are never read from files. */
// oxfmt-ignore
export const ACCESS = {
  anthropic:  { keys: ["ANTHROPIC_API_KEY"],                              needsKey: true,  base: "ANTHROPIC_BASE_URL", server: "https://api.anthropic.com",                 path: "/v1" },
  openai:     { keys: ["OPENAI_API_KEY"],                                 needsKey: true,  base: "OPENAI_BASE_URL",    server: "https://api.openai.com",                    path: "/v1" },
  google:     { keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"], needsKey: true,  base: "GOOGLE_BASE_URL",    server: "https://generativelanguage.googleapis.com", path: "/v1beta" },
  compatible: { keys: ["AUTONOUS_COMPATIBLE_API_KEY"],                    needsKey: false,                                                                                  path: "/v1" },
} as const satisfies Record<string, AccessRow>;

export type AccessName = keyof typeof ACCESS;

/** Access data of a provider. */
export interface Access {
  readonly base_url: string;
  readonly key?: string;
  /** The variable of the key, set or not. */
  readonly variable?: string;
}

/** Node quotes invalid header values in error messages, so invalid keys are rejected before. */
const KEY = /^[\x21-\x7e]{1,4096}$/;

/**
 * Server and key of a provider, from the environment only. Throws `InvalidArguments` with the name of the variable,
 * never its value. `server`: from the setting.
 */
export function readAccess(name: AccessName, environment: Environment, server?: string): Access {
  const row: AccessRow = ACCESS[name];
  const variable = row.keys.find((each) => isSet(environment[each]));
  const key = variable === undefined ? undefined : environment[variable]?.trim();
  if (key === undefined && row.needsKey) {
    const alternatives = row.keys.join(" or ");
    throw new ToolError(
      "InvalidArguments",
      `Cannot use the provider "${name}": no API key is set; set ${alternatives}`,
      {
        variable: row.keys[0],
        hint: "Keys are read only from the environment.",
      },
    );
  }
  if (key !== undefined && !KEY.test(key)) {
    const message = `Cannot use ${variable}: it contains white space or characters that are invalid in a key`;
    throw new ToolError("InvalidArguments", message, { variable });
  }
  const base = row.base === undefined ? undefined : environment[row.base];
  const address = server ?? (isSet(base) ? base : (row.server ?? ""));
  const said = server === undefined ? (row.base ?? "AUTONOUS_MODEL") : "AUTONOUS_MODEL";
  const base_url = readServer(address, { said, path: row.path });
  return { base_url, variable: variable ?? row.keys[0] ?? "", ...(key === undefined ? {} : { key }) };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== "";
}

/** The URL without a trailing slash. URLs with a password are rejected: they would be shown with the model's name. */
function readServer(address: string, { said, path }: { readonly said: string; readonly path: string }): string {
  const refuse = (why: string): ToolError =>
    new ToolError("InvalidArguments", `Cannot use the server that ${said} names: ${why}`, { variable: said });
  if (!URL.canParse(address.trim())) throw refuse("it must be a full URL such as http://127.0.0.1:11434/v1");
  const url = new URL(address.trim());
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refuse(`it begins with ${url.protocol} and not http`);
  if (url.username !== "" || url.password !== "") {
    throw refuse("it contains a user name or password; set keys in their own variables");
  }
  if (url.search !== "" || url.hash !== "") throw refuse('it has a part after "?" or "#"');
  const own = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${own === "" ? path : own}`;
}
