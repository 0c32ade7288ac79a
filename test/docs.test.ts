import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseConfiguration } from "../packages/autonous/src/config/read-file.ts";
import { fitsSchema } from "./support/json-schema.ts";
import { scratchFolder } from "./support/scratch.ts";
import { plain } from "./support/terminal.ts";

const root = join(import.meta.dirname, "..");

interface Snippet {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? "",
    text: match[2] ?? "",
    line: text.slice(0, match.index).split("\n").length,
  }));
}

/** A folder like the one that the pages describe, with `autonous` on the PATH and the packages to import. */
async function workplace(): Promise<{ path: string; env: NodeJS.ProcessEnv }> {
  const { path, make } = await scratchFolder();
  await make({
    "project/README.md": "x",
    "project/src/app.ts": "export const port = 80;\n// TODO: read it from the environment\n",
    "elsewhere/notes.txt": "x",
    "bin/": "",
  });
  const source = join(root, "packages/autonous/src/cli/bin.ts");
  writeFileSync(join(path, "bin/autonous"), `#!/bin/sh\nexec '${process.execPath}' '${source}' "$@"\n`);
  chmodSync(join(path, "bin/autonous"), 0o755);
  symlinkSync(root, join(path, "autonous")); // the clone beside the project
  mkdirSync(join(path, "node_modules"));
  for (const name of ["@autonous", "autonous", "zod"])
    symlinkSync(join(root, "node_modules", name), join(path, "node_modules", name));
  const env = {
    ...process.env,
    PATH: `${join(path, "bin")}:${process.env["PATH"]}`,
    NODE_OPTIONS: "--conditions=@autonous/source",
    AUTONOUS_HTTP_PORT: "0",
    XDG_STATE_HOME: join(path, "state"),
    XDG_CONFIG_HOME: join(path, "config"),
  };
  return { path: join(path, "project"), env };
}

/** `$ command`, then what it prints; `…` stands for anything. */
async function runConsole(text: string): Promise<void> {
  const { path, env } = await workplace();
  for (const block of text.split(/^\$ /m).slice(1)) {
    const [command = "", ...expected] = block.trimEnd().split("\n");
    const isAnswer = command.includes("approvals grant ");
    const printed = isAnswer
      ? await answerYes(command, { path, env })
      : execFileSync("bash", ["-c", `${command} 2>&1; true`], { cwd: path, env, encoding: "utf8" });
    const pattern = expected
      .join("\n")
      .split("…")
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join("[\\s\\S]*");
    expect(printed.trimEnd(), command).toMatch(new RegExp(`^${pattern}$`));
  }
}

/** What needs a person is run at a terminal, by one who types yes. */
async function answerYes(command: string, { path, env }: { path: string; env: NodeJS.ProcessEnv }): Promise<string> {
  const terminal = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: path,
    env: { ...env, SHELL: "/bin/bash", NO_COLOR: "1", CI: "" },
  });
  let output = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    const wasAsked = output.includes("to grant it: ");
    output += text;
    if (!wasAsked && output.includes("to grant it: ")) terminal.stdin.write("yes\r");
  });
  await new Promise((resolve, reject) => terminal.once("error", reject).once("close", resolve));
  return plain(output);
}

async function runProgram(text: string): Promise<void> {
  const { path, env } = await workplace();
  writeFileSync(join(path, "snippet.ts"), text);
  execFileSync(process.execPath, ["snippet.ts"], { cwd: path, env, encoding: "utf8" });
}

/** The two commands of the first screen are what CI runs; a service is started, seen to serve, and stopped. */
async function runShell(text: string): Promise<void> {
  const { path, env } = await workplace();
  for (const line of text
    .trim()
    .split("\n")
    .map((each) => each.replace(/\s+#.*$/, ""))) {
    if (line.startsWith("npm ci && npm ")) {
      const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
        scripts: Record<string, string>;
      };
      expect(scripts).toHaveProperty(line.split(" ").at(-1)!);
    } else if (line.endsWith("autonous serve")) {
      await seeServing(line.replace("/srv/work", path), { path, env });
    } else {
      execFileSync("bash", ["-c", line], { cwd: path, env });
    }
  }
}

async function seeServing(command: string, { path, env }: { path: string; env: NodeJS.ProcessEnv }): Promise<void> {
  const service = spawn("bash", ["-c", command.replace("autonous serve", "exec autonous serve")], {
    cwd: path,
    env: { ...env, ...Object.fromEntries([...command.matchAll(/(\w+)=(\S+)/g)].map((match) => [match[1], match[2]])) },
  });
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    service.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes("curl")) resolve();
    });
    service.once("exit", (code) => reject(new Error(`It ended with ${code}: ${printed}`)));
  });
  const ended = new Promise((resolve) => service.once("exit", resolve));
  service.kill("SIGTERM");
  expect(await ended).toBe(0);
}

/** A configuration: read as the program reads it, and held to the schema as an editor does. */
async function runJson(text: string): Promise<void> {
  const problems: string[] = [];
  const read = parseConfiguration("config.json", text, problems);
  expect([problems, read?.unknown]).toEqual([[], []]);
  const schema = JSON.parse(readFileSync(join(root, "packages/autonous/schema/config.schema.json"), "utf8")) as Record<
    string,
    unknown
  >;
  expect(fitsSchema(JSON.parse(text), schema)).toBe(true);
}

const RUNNERS: Readonly<Record<string, (text: string) => Promise<void>>> = {
  console: runConsole,
  ts: runProgram,
  sh: runShell,
  json: runJson,
  bash: async () => {}, // what installs the program: test/install.test.ts
  text: async () => {}, // messages of Telegram: channels/telegram/renderings.test.ts
  jsonl: async () => {}, // expected decisions: test/cookbook.test.ts
};

const PAGES = [
  "README.md",
  "README.zh-CN.md",
  "GUIDE.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "packages/runtime/README.md",
  "packages/autonous/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

for (const page of PAGES) {
  describe(page, () => {
    for (const { language, text, line } of snippetsOf(page)) {
      if (language === "") continue; // a drawing, or how a command is written
      test(`the ${language} snippet at line ${line} runs`, async () => {
        const run = RUNNERS[language];
        if (run === undefined) expect.unreachable(`nothing runs ${language}`);
        await run(text);
      });
    }
    test("its links exist", () => {
      const text = readFileSync(join(root, page), "utf8");
      for (const [, path = "", anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
        const target = path === "" ? join(root, page) : join(root, page, "..", path);
        expect(existsSync(target), path).toBe(true);
        if (anchor !== undefined) expect(anchorsOf(target), `${path}#${anchor}`).toContain(anchor);
      }
    });
  });
}

/** The anchors that a page's headings get: lower case, without punctuation, with a hyphen for each space. */
function anchorsOf(page: string): readonly string[] {
  return Array.from(readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}
