import type { Launch } from "../../packages/runtime/src/machine/processes/launch.ts";
import { PipePool } from "../../packages/runtime/src/machine/processes/output-pipes.ts";

/** As a sandbox program that has started the process inside and has not yet said which one that is. */
export function halfLaunch(run: string, { bash, folder }: { readonly bash: string; readonly folder: string }): Launch {
  return {
    program: bash,
    args: ["-c", run],
    cwd: "/",
    environment: { PATH: process.env["PATH"] ?? "" },
    bash,
    descriptors: [],
    pipes: new PipePool(folder),
    sandbox: "bwrap",
    left_out: 0,
    memory_folders: [],
    inner: () => undefined,
    wasBegun: () => false,
    close: () => {},
  };
}
