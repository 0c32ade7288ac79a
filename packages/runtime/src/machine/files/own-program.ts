import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { HOME_TOOLS } from "../../policy/command-view.ts";
import type { GitPlaces, Places } from "../../policy/facts.ts";

const OWN_PACKAGES: ReadonlySet<unknown> = new Set(["autonous", "@autonous/runtime"]);

/**
 * What of this program and of the person's toolchains lies in the roots: the next start runs it outside of every sandbox.
 * A project that installs the program for itself has it in `node_modules`; a root that holds the home has all of it.
 */
export function programPlaces({ roots, home }: Pick<Places, "roots" | "home">): GitPlaces {
  const own = [process.execPath, import.meta.filename, process.argv[1] ?? ""].flatMap((path, at) => {
    const real = realOf(path);
    if (real === undefined) return [];
    return at === 0 ? [real] : partsOf(real);
  });
  const tools = roots.some((root) => isInside(root, home)) ? HOME_TOOLS.map((name) => join(home, name)) : [];
  return [
    ...[...new Set(own)].map((path) => ({ path, why: "this program runs it", is_program: true as const })),
    ...tools
      .filter((path) => existsSync(path))
      .map((path) => ({ path, why: "it is a toolchain of the home", is_program: true as const })),
  ].filter(({ path }) => roots.some((root) => root !== path && isInside(root, path)));
}

/** The package that a file of ours belongs to, and the search program that comes with it. */
function partsOf(file: string): readonly string[] {
  for (let folder = dirname(file); folder !== "/"; folder = dirname(folder)) {
    const name = packageName(folder);
    if (name === undefined) continue;
    return OWN_PACKAGES.has(name) ? [folder, ...searchPrograms(folder)] : [];
  }
  return [];
}

function packageName(folder: string): unknown {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name?: unknown }).name;
  } catch {
    return undefined; // no package here: it is looked for above
  }
}

function searchPrograms(folder: string): readonly string[] {
  const found: string[] = [];
  for (let above = folder; above !== "/"; above = dirname(above)) {
    const scope = join(above, "node_modules", "@vscode");
    for (const name of namesIn(scope)) {
      const real = name.startsWith("ripgrep") ? realOf(join(scope, name)) : undefined;
      if (real !== undefined) found.push(real);
    }
  }
  return found;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing of it is installed there
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // not started from a file, as with --eval
  }
}
