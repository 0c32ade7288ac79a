import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { readReceived, writeReceived } from "../../../received/received-files.ts";
import type { ReceivedFile } from "../../../received/received-files.ts";
import { TelegramClient } from "../api/client.ts";
import { Downloads } from "./downloads.ts";
import { HOLD_MS } from "./file-limits.ts";

test("a part that comes right after the task was released is downloaded, and the task is released again", async () => {
  const { store, telegram, state_dir, claim } = await scratchPlace();
  const files = ["1", "2"].map((id): ReceivedFile => {
    const { document } = telegram.send({ kind: "document", content: `file ${id}` });
    return { id, name: `${id}.txt`, kind: "document", remote: document?.file_id ?? "" };
  });
  const { task_id } = await store.inbox.ingest({
    source: "telegram",
    lane: `telegram:${ADA}`,
    text: "look",
    files: writeReceived({ files: files.slice(0, 1) }),
    run_at: Date.now() + HOLD_MS,
  });
  const client = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined });
  let parts = 1;
  const downloads = new Downloads({
    store,
    client,
    state_dir,
    limits: { max_files: 10, max_file_bytes: 1000 },
    clock: Date.now,
    onTask: () => undefined,
    log: () => undefined,
    async inLine(work) {
      const result = await work();
      if (parts++ > 1) return result;
      const before = readReceived((await store.tasks.get(task_id))?.task.files ?? "")?.files ?? [];
      const more = writeReceived({ files: [...before, ...files.slice(1)] });
      await store.revisions.revise(task_id, { files: more, run_at: Date.now() + HOLD_MS });
      downloads.add(task_id, Date.now()); // before the first download has ended
      return result;
    },
  });
  downloads.add(task_id, Date.now());
  const { task } = await claim();
  expect(readReceived(task.files ?? "")?.files).toMatchObject([{ kept: { bytes: 6 } }, { kept: { bytes: 6 } }]);
  await downloads.close();
  await client.close(0);
});
