/**
 * The places where the bundle of the command line differs from the packages it is made of. Each is bound to the text that it
 * was written for: when a new version of the package reads differently, the build fails until a person has looked at it.
 */
interface BundlePatch {
  readonly name: string;
  /** The modules that it changes, each of which has to be part of the bundle. */
  readonly files: readonly string[];
  /** The text that it was written for, and how often each file has it. */
  readonly text: string;
  readonly times: number;
  readonly apply: (code: string) => string;
}

export const PATCHES: readonly BundlePatch[] = [
  {
    // Node's `Headers` load all of its `fetch`, which takes longer than the start of Node itself. The AI SDK uses them as a
    // record of names and values, and requests are made without `fetch`.
    name: "light Headers",
    files: ["@ai-sdk/provider-utils/dist/index.js"],
    text: "new Headers(",
    times: 5,
    apply: (code) => `class Headers extends Map { constructor(given = {}) { super(Object.entries(given)); } }\n${code}`,
  },
  {
    // grammY is called with Node's own `fetch`. What it loads for older versions needs a module that Node warns about.
    name: "grammY without node-fetch",
    files: ["grammy/out/shim.node.js", "grammy/out/types.node.js"],
    text: 'require("node-fetch")',
    times: 1,
    apply: (code) => code.replace('require("node-fetch")', "({ default: fetch })"),
  },
];

interface PatchPlugin {
  readonly name: string;
  buildStart(): void;
  transform(code: string, id: string): string | undefined;
  buildEnd(error?: Error): void;
}

/** A plugin of the bundler. Throws when a file has changed, and at the end when one was not part of the bundle. */
export function applyPatch(patch: BundlePatch): PatchPlugin {
  const { name, files, text, times, apply } = patch;
  const missing = new Set<string>();
  const advice = `see whether the patch "${name}" in scripts/bundle-patches.ts is still needed, then adapt or remove it`;
  return {
    name,
    buildStart() {
      for (const file of files) missing.add(file);
    },
    transform(code, id) {
      const file = files.find((each) => id.endsWith(`/node_modules/${each}`));
      if (file === undefined) return undefined;
      missing.delete(file);
      const found = code.split(text).length - 1;
      if (found === times) return apply(code);
      throw new Error(`Cannot patch "${file}": "${text}" occurs ${found} times instead of ${times}; ${advice}`);
    },
    buildEnd(error) {
      if (error === undefined && missing.size > 0)
        throw new Error(`Cannot patch "${[...missing].join('", "')}": not part of the bundle; ${advice}`);
    },
  };
}
