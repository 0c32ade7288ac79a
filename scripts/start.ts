/** `npm start`: serves a separate folder beside the program, never the program itself. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const workspace = join(root, "workspace");

const GUIDE = `# Your workspace

The agent that \`npm start\` serves may touch this folder and nothing else.
Put files here, then ask for them:

    /ls .
    /ls {"path": ".", "recursive": true}

Every call is on record: \`npx autonous audit show\`, \`npx autonous events tail\`.
To serve another folder: AUTONOUS_TOOL_ALLOWED_ROOTS=/absolute/path npm start
`;

if (process.env["AUTONOUS_TOOL_ALLOWED_ROOTS"] === undefined) {
  mkdirSync(workspace, { recursive: true });
  if (!existsSync(join(workspace, "GUIDE.md"))) writeFileSync(join(workspace, "GUIDE.md"), GUIDE);
  process.env["AUTONOUS_TOOL_ALLOWED_ROOTS"] = workspace;
}
const bin = join(root, "packages/autonous/src/cli/bin.ts");
process.argv = [process.execPath, bin, "serve", ...process.argv.slice(2)];
await import(bin);
