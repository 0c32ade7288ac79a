import { ConfigurationError, modulesOf } from "./load.ts";
import type { Configuration, ConfigurationFile, RefusedSetting } from "./load.ts";
import { applyProject } from "./narrow.ts";
import { applyPolicy, refusedPolicy } from "./policy-layer.ts";
import { parseConfiguration, projectPath, readProjectText } from "./read-file.ts";
import type { ReadFile } from "./read-file.ts";
import { givenBy, SETTINGS } from "./settings.ts";
import type { Settings, SettingName, SettingValue } from "./settings.ts";
import { TrustStore } from "./trust-store.ts";
import type { TrustItem } from "./trust-store.ts";

interface Workspace {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** A project's configuration as an object of trust, valid for exactly these roots. */
export function thingOf({ path, sha256 }: Pick<ReadFile, "path" | "sha256">, roots: readonly string[]): TrustItem {
  return { kind: "configuration", path, digest: sha256, files: [{ path, sha256 }], roots };
}

/**
 * The user's configuration merged with the workspace's files (`.agent/config.json` of each root and of the working
 * folder), which can only narrow it until they are trusted. The working folder's file is applied last. Throws
 * `ConfigurationError` for mistakes in them: an intended restriction is never skipped because it is unreadable.
 */
export function withProject(
  own: Configuration,
  workspace: Workspace,
): { readonly configuration: Configuration; readonly roots: readonly string[] } {
  const { roots, cwd, environment } = workspace;
  const problems: string[] = [];
  const files: ConfigurationFile[] = [];
  const refused: RefusedSetting[] = [];
  const modules = [...own.modules];
  // The working folder comes last, even if it is a root, so that its file takes precedence.
  const folders = [...new Set([...roots.filter((root) => root !== cwd), cwd])];
  let trust: TrustStore | undefined;
  let values: Values = { settings: { ...own.settings, tool_allowed_roots: roots }, sources: { ...own.sources } };
  let { policy } = own;
  for (const folder of folders) {
    const path = projectPath(folder);
    const found = readProjectText(folder);
    if (found === undefined) continue;
    if ("refused" in found) {
      refused.push({ where: path, what: "the whole file", why: found.refused, until_trusted: false });
      files.push({ path, owner: "project", trusted: false });
      continue;
    }
    const read = parseConfiguration(path, found.text, problems);
    if (read === undefined) continue;
    trust ??= new TrustStore(environment);
    const trusted = trust.isTrusted(thingOf(read, roots));
    files.push({ path, owner: "project", trusted, read });
    values = applyFile(values, { folder, read, trusted, environment }, refused);
    policy = applyPolicy(policy, read, trusted);
    refused.push(...refusedPolicy(read, trusted, policy));
    modules.push(...modulesOf(read, { folder, trusted }));
    if (!trusted && (read.modules ?? []).length > 0)
      refused.push({ where: read.where(["modules"]), what: "modules", why: "it needs trust", until_trusted: true });
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  if (files.length === 0) return { configuration: own, roots };
  const { tool_allowed_roots: narrowed = roots, ...settings } = values.settings;
  // Unset roots stay unset: a project's file cannot replace the user's own setting.
  const tool_allowed_roots = own.settings.tool_allowed_roots === undefined ? undefined : narrowed;
  return {
    configuration: {
      settings: { tool_allowed_roots, ...settings },
      policy: { ...policy, profile: settings.profile },
      prices: own.prices,
      models: own.models,
      modules,
      sources: values.sources,
      files: [...own.files, ...files],
      refused,
    },
    roots: narrowed,
  };
}

type Values = Pick<Configuration, "settings" | "sources">;

interface ProjectFile {
  readonly folder: string;
  readonly read: ReadFile;
  readonly trusted: boolean;
  readonly environment: NodeJS.ProcessEnv;
}

function applyFile({ settings, sources }: Values, file: ProjectFile, refused: RefusedSetting[]): Values {
  const { folder, read, trusted, environment } = file;
  const values: Partial<Record<SettingName, SettingValue>> = { ...settings };
  const from: Record<SettingName, string> = { ...sources };
  for (const [name, value] of read.named) {
    const fixed = givenBy(name, environment)?.variable;
    const narrowed = applyProject({ name, value, inForce: values[name], folder, trusted, fixed });
    values[name] = narrowed.value;
    const isAdded = SETTINGS[name].project === "adds" && from[name] !== "default";
    if (narrowed.counts) from[name] = isAdded ? `${from[name]}, ${read.path}` : read.path;
    if (narrowed.refused === undefined) continue;
    const until_trusted = narrowed.until_trusted === true;
    refused.push({ where: read.where([name]), what: name, why: narrowed.refused, until_trusted });
  }
  for (const what of ["prices", "models"] as const) {
    if (read[what] === undefined) continue;
    const why = "a project's file cannot set this";
    refused.push({ where: read.where([what]), what, why, until_trusted: false });
  }
  for (const { key, why } of read.unknown) {
    const what = /^[\w$-]{1,80}$/.test(key) ? key : JSON.stringify(key.slice(0, 80));
    refused.push({ where: read.where([key]), what, why: `it ${why}`, until_trusted: false });
  }
  return { settings: values as Settings, sources: from };
}
