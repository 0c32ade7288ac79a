import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { compare, milliseconds } from "./measure.ts";
import { callOrThrow, makeWorkspace, openRuntime } from "./place.ts";

const LINE = "const value = compute(12345, 'some text in it');\n";
const FOUR_KB = LINE.repeat(Math.floor(4096 / LINE.length));

export async function benchRead(): Promise<void> {
  const workspace = makeWorkspace("read");
  const file = join(workspace, "a.ts");
  writeFileSync(file, FOUR_KB);
  const runtime = await openRuntime(workspace);
  const { ours, floor, ratio } = await compare(
    5000,
    () => callOrThrow(runtime, "read", { path: "a.ts" }),
    () => readFileSync(file),
  );
  await runtime.close();
  console.log(
    `read of 4 kB, governed: p50 ${(ours.p50 * 1000).toFixed(0)} µs, ${ours.perSecond.toFixed(0)} calls/s (target 3000)`,
  );
  console.log(`  bare readFile: p50 ${(floor.p50 * 1000).toFixed(0)} µs; ratio ${ratio.toFixed(1)}`);
}

/** The baseline, what a careful program does: temporary file, fsync, rename, fsync of the folder. */
function writeCarefully(file: string, folder: string, content: string): void {
  const temporary = `${file}.new`;
  const fd = openSync(temporary, "wx");
  writeSync(fd, content);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, file);
  const folderFd = openSync(folder, "r");
  fsyncSync(folderFd);
  closeSync(folderFd);
}

export async function benchChanges(): Promise<void> {
  const workspace = makeWorkspace("changes");
  for (const name of ["ours.ts", "bare.ts"]) writeFileSync(join(workspace, name), FOUR_KB);
  let header = "// version 0\n";
  writeFileSync(join(workspace, "edited.ts"), `${header}${FOUR_KB}`);
  const runtime = await openRuntime(workspace);
  let turn = 0;
  const bare = (): void => writeCarefully(join(workspace, "bare.ts"), workspace, `${FOUR_KB}// ${++turn}\n`);
  const written = await compare(
    200,
    () => callOrThrow(runtime, "write", { path: "ours.ts", content: `${FOUR_KB}// ${++turn}\n` }),
    bare,
  );
  const edited = await compare(
    200,
    async () => {
      const replace = `// version ${++turn}\n`;
      await callOrThrow(runtime, "edit", { path: "edited.ts", find: header, replace });
      header = replace;
    },
    bare,
  );
  await runtime.close();
  for (const [name, { ours, floor, ratio }] of Object.entries({ write: written, edit: edited })) {
    console.log(
      `${name} of 4 kB, governed, undo kept: p50 ${milliseconds(ours.p50)}; bare temp + fsync + rename + fsync: ${milliseconds(floor.p50)}; ratio ${ratio.toFixed(2)} (target 3.5)`,
    );
  }
}
