/** The variable by which a service tells its worker which modules its own program named, and how they were then. */
export const SERVICE_MODULES = "AUTONOUS_SERVICE_MODULES";

/** A module that a program named, and the digest that it had then. */
export interface NamedModule {
  readonly path: string;
  readonly digest: string;
}

/** What the service wrote for its worker; undefined where it is not what a service writes. */
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
