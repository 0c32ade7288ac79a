import { machineLimits } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { loadConfiguration } from "../../config/load.ts";
import { checkLimits } from "./checks.ts";
import { commandLimits } from "../../workplace/runtime-options.ts";

const NO_FILE = "/nonexistent/config.json";

test("without settings, a command gets limits that fit the machine", () => {
  const configuration = loadConfiguration({}, NO_FILE);

  expect(commandLimits(configuration.settings)).toEqual(machineLimits());
  expect(configuration.sources.command_memory_megabytes).toBe("default");
});

test("every limit of commands is a setting", () => {
  const environment = {
    AUTONOUS_COMMAND_MEMORY_MEGABYTES: "300",
    AUTONOUS_COMMAND_FILE_MEGABYTES: "20",
    AUTONOUS_COMMAND_PROCESSES: "40",
    AUTONOUS_COMMAND_OPEN_FILES: "64",
  };
  const configuration = loadConfiguration(environment, NO_FILE);

  expect(commandLimits(configuration.settings)).toEqual({
    memory_bytes: 314_572_800,
    file_bytes: 20_971_520,
    processes: 40,
    open_files: 64,
  });
  expect(checkLimits({ configuration })).toMatchObject({
    outcome: "ok",
    message: expect.stringMatching(
      /^a command gets 300 MiB of memory, 40 processes, files of 20 MiB, 64 open files; this machine has \d+ MiB/,
    ),
  });
});

test("more memory than the machine has is warned about", () => {
  const configuration = loadConfiguration({ AUTONOUS_COMMAND_MEMORY_MEGABYTES: "16777216" }, NO_FILE);

  expect(checkLimits({ configuration })).toMatchObject({
    outcome: "warning",
    message: expect.stringMatching(/so one command can use it up: set AUTONOUS_COMMAND_MEMORY_MEGABYTES lower$/),
  });
});
