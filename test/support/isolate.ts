/** Tests keep their hands off the user's own folders and settings. Children that tests start inherit this. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const home = mkdtempSync(join(tmpdir(), "autonous-home-"));
process.env["HOME"] = home;
process.env["XDG_STATE_HOME"] = join(home, "state");
process.env["XDG_CONFIG_HOME"] = join(home, "config");
process.env["XDG_CACHE_HOME"] = join(home, "cache");
for (const name of Object.keys(process.env)) if (/^(AUTONOUS|TASK|TG)_/.test(name)) delete process.env[name];

afterAll(() => rmSync(home, { recursive: true, force: true }));
