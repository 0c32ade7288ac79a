import { defineConfig } from "vitest/config";

const shared = {
  setupFiles: ["test/support/isolate.ts"],
  pool: "forks" as const,
  maxWorkers: "100%", // most of them wait for processes and disks
  testTimeout: 180_000, // also on a machine that is busy with other work
  hookTimeout: 120_000,
};

export default defineConfig({
  resolve: { conditions: ["@autonous/source"] },
  ssr: { resolve: { conditions: ["@autonous/source"] } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "units",
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "emulators/**/*.test.ts"],
        },
      },
      // These run the packages as they are published.
      {
        extends: true,
        test: { ...shared, name: "whole", include: ["test/**/*.test.ts"], globalSetup: ["test/support/build.ts"] },
      },
    ],
  },
});
