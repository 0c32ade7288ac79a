import { ToolError } from "@autonous/runtime";

type Environment = Readonly<Record<string, string | undefined>>;

interface AccessRow {
  /** The first of them that is set holds the key. Without one of these, a required key is asked for by the first name. */
  readonly keys: readonly string[];
  readonly needsKey: boolean;
  /** The variable that names another server; none where the setting itself does. */
  readonly base?: string;
  readonly server?: string;
  /** What a server's address ends with where it has no path of its own. */
  readonly path: string;
}

/** Where each kind of provider is, and which variables of the environment speak of it. No file ever does. */
// oxfmt-ignore
export const ACCESS = {
  anthropic:  { keys: ["ANTHROPIC_API_KEY"],                              needsKey: true,  base: "ANTHROPIC_BASE_URL", server: "https://api.anthropic.com",                 path: "/v1" },
  openai:     { keys: ["OPENAI_API_KEY"],                                 needsKey: true,  base: "OPENAI_BASE_URL",    server: "https://api.openai.com",                    path: "/v1" },
  google:     { keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"], needsKey: true,  base: "GOOGLE_BASE_URL",    server: "https://generativelanguage.googleapis.com", path: "/v1beta" },
  compatible: { keys: ["AUTONOUS_COMPATIBLE_API_KEY"],                    needsKey: false,                                                                                  path: "/v1" },
} as const satisfies Record<string, AccessRow>;

export type AccessName = keyof typeof ACCESS;

/** What is needed to speak to a provider. */
export interface Access {
  readonly base_url: string;
  readonly key?: string;
  /** The variable that the key comes from, or would. */
  readonly variable?: string;
}

/** Header values are printed in error messages when they are refused, so none that would be is sent. */
const KEY = /^[\x21-\x7e]{1,4096}$/;

/**
 * The server and the key of a provider, from the environment alone. Throws `InvalidArguments` that names the variable
 * and never says its value. `server`: the one that the setting names.
 */
export function readAccess(name: AccessName, environment: Environment, server?: string): Access {
  const row: AccessRow = ACCESS[name];
  const variable = row.keys.find((each) => isSet(environment[each]));
  const key = variable === undefined ? undefined : environment[variable]?.trim();
  if (key === undefined && row.needsKey) {
    const alternatives = row.keys.join(" or ");
    throw new ToolError("InvalidArguments", `Cannot use a model of ${name}: no key is set; set ${alternatives}`, {
      variable: row.keys[0],
      hint: "Keys come from the environment, and from nowhere else.",
    });
  }
  if (key !== undefined && !KEY.test(key)) {
    const message = `Cannot use ${variable}: it holds white space or signs that no key has`;
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

/** The address without a slash at its end. One that carries a password is refused: it would be shown with the model's name. */
function readServer(address: string, { said, path }: { readonly said: string; readonly path: string }): string {
  const refuse = (why: string): ToolError =>
    new ToolError("InvalidArguments", `Cannot use the server that ${said} names: ${why}`, { variable: said });
  if (!URL.canParse(address.trim())) throw refuse("it has to be a whole address such as http://127.0.0.1:11434/v1");
  const url = new URL(address.trim());
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refuse(`it begins with ${url.protocol} and not http`);
  if (url.username !== "" || url.password !== "") {
    throw refuse("it holds a user name or password; keys are given in their own variables");
  }
  if (url.search !== "" || url.hash !== "") throw refuse('it has a part after "?" or "#"');
  const own = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${own === "" ? path : own}`;
}
