/** The variable that passes the modules named by the service's program, with their digests, to the worker. */
export const SERVICE_MODULES = "AUTONOUS_SERVICE_MODULES";

/** A module that a program named, with its digest at that time. */
export interface NamedModule {
  readonly path: string;
  readonly digest: string;
}

/** Parses the variable that the service set for its worker; undefined if it is invalid. */
export function readServiceModules(written: string | undefined): readonly NamedModule[] | undefined {
  try {
    const named = JSON.parse(written ?? "[]") as unknown;
    return Array.isArray(named) && named.every(isNamedModule) ? named : undefined;
  } catch {
    return undefined;
  }
}

function isNamedModule(value: unknown): value is NamedModule {
  const { path, digest } = Object(value) as Readonly<Record<string, unknown>>;
  return typeof path === "string" && typeof digest === "string";
}
