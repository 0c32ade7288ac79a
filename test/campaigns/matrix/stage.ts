/** What the matrix needs of a service: a workspace, a page to ask for, a skill, and who may speak. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import type { RuntimeEvent } from "@autonous/runtime";
import type { Place } from "../../support/service.ts";

/** A message of the bot, as Telegram has it. */
export interface SaidMessage {
  readonly text: string;
  readonly document?: { readonly name: string; readonly bytes: number };
  /** It is a photo. */
  readonly photo?: true;
}

/** A file that a person sends with their words. */
export interface PersonFile {
  readonly name: string;
  readonly content: string;
}

export interface CaseRun {
  readonly chat: number;
  readonly answer: string;
  /** All that the bot said to this message. */
  readonly said: readonly SaidMessage[];
  readonly events: readonly RuntimeEvent[];
}

interface AskOptions {
  readonly chat?: number;
  readonly press?: string;
  readonly file?: PersonFile;
}

export interface MatrixWorld {
  readonly root: string;
  /** The address of a page that the service may ask for. */
  readonly page: string;
  /** Says it in a chat, of its own where there are several, and presses the button that the question offers. */
  ask(text: string, options?: AskOptions): Promise<CaseRun>;
}

export async function servePage({ onEnd }: Pick<Place, "onEnd">): Promise<string> {
  const server = createServer((request, response) =>
    response
      .writeHead(request.url === "/gone" ? 404 : 200, { "content-type": "text/html" })
      .end("<h1>Title</h1><p>Some <b>text</b></p>"),
  );
  onEnd(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
  }
}

/** The settings of the service; its configuration and its skill are written. */
export function setStage({ path }: Place, page: string, users: readonly number[]): Record<string, string> {
  const config = join(path, "config/autonous");
  writeFiles(config, {
    "config.json": JSON.stringify({ network: { allow: [new URL(page).host] } }),
    "skills/kit/SKILL.md": "---\nname: kit\ndescription: Things to run\n---\nRun scripts/hello.sh\n",
    "skills/kit/scripts/hello.sh": '#!/bin/sh\necho "hello $1"\nexit "$2"\n',
  });
  return {
    AUTONOUS_TELEGRAM_ALLOWED_USERS: users.join(","),
    AUTONOUS_TOOL_BASH_DENYLIST: "git push",
    AUTONOUS_TOOL_MAX_OUTPUT_LINES: "50",
    AUTONOUS_WORKER_CONCURRENCY: "4",
    XDG_CONFIG_HOME: join(path, "config"),
    XDG_STATE_HOME: join(path, "user-state"),
  };
}
