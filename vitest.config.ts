import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@autonous/source"] },
  ssr: { resolve: { conditions: ["@autonous/source"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"],
    globalSetup: ["test/support/build.ts"],
    setupFiles: ["test/support/isolate.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
