import { constants } from "node:fs";
import { open, readlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ToolError } from "@autonous/runtime";
import { runPath } from "@autonous/runtime/internal";
import type { Hono } from "hono";
import { problem } from "./problem.ts";
import type { RouteParts } from "./routes.ts";

/** `GET /api/runs/:run/artifacts/:name`: downloads a file that a run attached. */
export function addArtifactRoute(app: Hono, { state_dir }: RouteParts): void {
  app.get("/api/runs/:run/artifacts/:name", async (context) => {
    const { run, name } = context.req.param();
    const file = await openArtifact(state_dir, run, name);
    if (file === undefined) return problem(context, 404, `The run "${run}" has no artifact "${name}"`);
    const { size } = await file.stat();
    context.header("Content-Type", "application/octet-stream"); // no browser may run it, whatever the type
    context.header("Content-Disposition", `attachment; filename*=UTF-8''${encodeName(name)}`);
    context.header("Content-Length", String(size));
    context.header("Cache-Control", "no-store");
    if (size === 0) {
      await file.close();
      return context.body(null);
    }
    // Exactly the announced length, even if the file grows. The stream closes the file.
    const stream = file.createReadStream({ start: 0, end: size - 1 });
    return context.body(Readable.toWeb(stream) as ReadableStream);
  });
}

/** Names come from requests, so they must not contain path syntax. */
const NAME = /^(?!\.{1,2}$)[^/\\\0]{1,255}$/;

/** Undefined if the file does not exist, is not a regular file, or is reached through a link. */
async function openArtifact(state_dir: string, run: string, name: string): Promise<FileHandle | undefined> {
  if (!NAME.test(name)) return undefined;
  let file: FileHandle | undefined;
  try {
    const path = join(runPath(state_dir, run), "artifacts", name);
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    // The real path of the opened file: this also detects links in parent folders.
    const isThere = (await readlink(`/proc/self/fd/${file.fd}`)) === path && (await file.stat()).isFile();
    if (isThere) return file;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isNoRun = error instanceof ToolError; // not a valid run id
    if (!isNoRun && !["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENAMETOOLONG"].includes(code ?? "")) throw error;
  }
  await file?.close();
  return undefined;
}

/** The original file name, without the prefix that makes it unique in its folder; encoded per RFC 5987. */
function encodeName(name: string): string {
  const own = name.replace(/^[0-9a-f]{8,64}-(?=.)/, "").toWellFormed();
  return encodeURIComponent(own).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
