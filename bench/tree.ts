import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = 200;
const FILES_PER_FOLDER = 100;

/** 20,000 files of about 3 kB that look like source code; every tenth has a line with the word TODO. */
export function makeTree(folder: string): void {
  for (let i = 0; i < FOLDERS; i++) {
    const inner = join(folder, `package-${i % 20}`, `folder-${i}`);
    mkdirSync(inner, { recursive: true });
    for (let j = 0; j < FILES_PER_FOLDER; j++) {
      const name = `module-${j}.${j % 3 === 0 ? "ts" : "js"}`;
      writeFileSync(join(inner, name), sourceText(i * FILES_PER_FOLDER + j));
    }
  }
  writeFileSync(join(folder, ".gitignore"), "dist/\n*.log\n");
}

function sourceText(seed: number): string {
  const lines = Array.from(
    { length: 60 },
    (_, i) => `export const value${seed}_${i} = compute(${(seed * 31 + i * 17) % 9973}, "text ${i}");`,
  );
  if (seed % 10 === 0) lines[30] = `// TODO: look at number ${seed} again`;
  return `${lines.join("\n")}\n`;
}
