import { isBuiltin, registerHooks } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BoundModule } from "./module-files.ts";

/** Packages that a module may import, resolved to this program's copies, so that its tools use the same code. */
const PACKAGES: ReadonlySet<string> = new Set(["autonous", "@autonous/runtime", "zod"]);
const LOAD_MS = 10_000;

/** The bound text by URL. The digest is part of the URL, so changed content is a different module. */
const bound = new Map<string, { readonly text: string; readonly module: BoundModule }>();
let isHooked = false;

/** Imports a module from the bound text, never from the files. Throws what the module throws. */
export async function importModule(module: BoundModule): Promise<Readonly<Record<string, unknown>>> {
  for (const [path, text] of module.sources) bound.set(addressOf(path, module), { text, module });
  if (!isHooked) hook();
  isHooked = true;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`it did not load within ${LOAD_MS / 1000} seconds`)), LOAD_MS);
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
      `it imports the package "${specifier}", but only ${[...PACKAGES].join(", ")} and Node.js built-ins can be imported; bundle other packages into the module`,
    );
  }
  const url = addressOf(fileURLToPath(new URL(specifier, from)), module);
  if (bound.has(url)) return url;
  throw new Error(
    `it imports "${specifier}", which is not part of the trusted content: import files by literal relative paths without symlinks`,
  );
}

function formatOf(url: string): string {
  const extension = extname(fileURLToPath(url));
  if (extension === ".json") return "json";
  return extension === ".ts" || extension === ".mts" ? "module-typescript" : "module";
}
