/** The variable by which a service tells its worker which modules its own program named, and how they were then. */
export const SERVICE_MODULES = "AUTONOUS_SERVICE_MODULES";

/** A module that a program named, and the digest that it had then. */
export interface NamedModule {
  readonly path: string;
  readonly digest: string;
}
