import { isBuiltin, registerHooks } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BoundModule } from "./module-files.ts";

/** Packages that a module may import: those of this program, so that its tools are made by the same code. */
const PACKAGES: ReadonlySet<string> = new Set(["autonous", "@autonous/runtime", "zod"]);
const LOAD_MS = 10_000;

/** By address: the text that was bound. The digest is part of the address, so other content is another module. */
const bound = new Map<string, { readonly text: string; readonly module: BoundModule }>();
let isHooked = false;

/** Imports a module out of the text that was bound, and nothing else from files. Throws what the module throws. */
export async function importModule(module: BoundModule): Promise<Readonly<Record<string, unknown>>> {
  for (const [path, text] of module.sources) bound.set(addressOf(path, module), { text, module });
  if (!isHooked) hook();
  isHooked = true;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it was not loaded within ${LOAD_MS / 1000} seconds`)), LOAD_MS);
  try {
    const loading = import(addressOf(module.thing.path, module)) as Promise<Readonly<Record<string, unknown>>>;
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}

function addressOf(path: string, { thing }: BoundModule): string {
  return `${pathToFileURL(path).href}?${thing.digest}`;
}

function hook(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const parent = bound.get(context.parentURL ?? "");
      if (parent === undefined) {
        return bound.has(specifier) ? { url: specifier, shortCircuit: true } : next(specifier, context);
      }
      if (isBuiltin(specifier)) return next(specifier, context);
      if (PACKAGES.has(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
      return { url: findBound(specifier, context.parentURL ?? "", parent.module), shortCircuit: true };
    },
    load(url, context, next) {
      const found = bound.get(url);
      if (found === undefined) return next(url, context);
      return { format: formatOf(url), source: found.text, shortCircuit: true };
    },
  });
}

function findBound(specifier: string, from: string, module: BoundModule): string {
  const isLocal = /^(?:\.{0,2}\/|file:)/.test(specifier);
  if (!isLocal) {
    throw new Error(
      `it imports the package "${specifier}", and can import only ${[...PACKAGES].join(", ")} and what Node.js brings; bundle the rest into the module`,
    );
  }
  const url = addressOf(fileURLToPath(new URL(specifier, from)), module);
  if (bound.has(url)) return url;
  throw new Error(
    `it imports "${specifier}", which is not part of what was trusted: import files by relative paths that lead to no links, written out in the import`,
  );
}

function formatOf(url: string): string {
  const extension = extname(fileURLToPath(url));
  if (extension === ".json") return "json";
  return extension === ".ts" || extension === ".mts" ? "module-typescript" : "module";
}
