import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import type { EventDraft } from "../protocol/event-record.ts";
import { JsonlJournal } from "./jsonl-journal.ts";
import { verifyAudit } from "./verify.ts";

function draft(content: string): EventDraft {
  return {
    event_id: "evt_1",
    ts: new Date(0).toISOString(),
    type: "display",
    trace_id: "t",
    task_id: null,
    run_id: "run_1",
    parent_id: null,
    payload: { content },
  };
}

async function place(): Promise<{ state_dir: string; run_id: string; heads: string }> {
  const { path } = await scratchFolder();
  return { state_dir: join(path, "state"), run_id: "run_1", heads: join(path, "heads") };
}

test("events are read back as they were appended, after any of them", async () => {
  const journal = new JsonlJournal(await place());
  const texts = ["plain", "a line end \n inside", "\u2028 ends lines elsewhere", "é 世界 😀", "x".repeat(200_000)];
  for (const text of texts) await journal.append([draft(text)]);
  const events = await Array.fromAsync(journal.read());
  expect(events.map((event) => event.payload["content"])).toEqual(texts);
  expect((await Array.fromAsync(journal.read(3))).map((event) => event.seq)).toEqual([4, 5]);
  await journal.close();
});

test("a journal that is opened again goes on where it was", async () => {
  const options = await place();
  for (let i = 0; i < 3; i++) {
    const journal = new JsonlJournal(options);
    await journal.append([draft(`${i}`), draft("and another")], { durable: true });
    await journal.close();
  }
  const file = join(options.state_dir, "runs/run_1/events.jsonl");
  expect(await verifyAudit(file, { heads: options.heads })).toEqual({ ok: true, records: 6, problems: [] });
});

test("a second writer is noticed before anything is written", async () => {
  const options = await place();
  const [one, two] = [new JsonlJournal(options), new JsonlJournal(options)];
  await one.append([draft("mine")]);
  await expect(two.append([draft("theirs")])).rejects.toThrow(/another process changed it/);
  expect(readFileSync(one.path, "utf8").split("\n")).toHaveLength(2);
  await Promise.all([one.close(), two.close()]);
});

// oxfmt-ignore
const LOST = [
  { title: "deleted",                 lose: ({ file }: Lost) => rmSync(file) },
  { title: "deleted with its folder", lose: ({ file }: Lost) => rmSync(dirname(file), { recursive: true }) },
  { title: "moved",                   lose: ({ file }: Lost) => renameSync(file, `${file}.old`) },
  { title: "replaced by its copy",    lose: ({ file }: Lost) => { cpSync(file, `${file}.new`); renameSync(`${file}.new`, file); } },
  { title: "in a folder that moved",  lose: ({ file }: Lost) => renameSync(dirname(file), `${dirname(file)}-moved`) },
  { title: "in a state folder that moved", lose: ({ options }: Lost) => renameSync(options.state_dir, `${options.state_dir}-moved`) },
  { title: "without its head",        lose: ({ options }: Lost) => rmSync(options.heads, { recursive: true }) },
] as const;

interface Lost {
  readonly file: string;
  readonly options: { readonly state_dir: string; readonly heads: string };
}

for (const { title, lose } of LOST) {
  test(`a record that is ${title} while it is open takes nothing any more`, async () => {
    const options = await place();
    const journal = new JsonlJournal(options);
    await journal.append([draft("before")]);
    lose({ file: journal.path, options });
    for (let i = 0; i < 2; i++)
      await expect(journal.append([draft("after")])).rejects.toThrow(/deleted|another process changed it/);
    await journal.close();
  });
}

test("a record that was cut, or deleted, is not continued: its head would hide that", async () => {
  const options = await place();
  const journal = new JsonlJournal(options);
  await journal.append([draft("one")]);
  await journal.append([draft("two")]);
  await journal.close();
  const text = readFileSync(journal.path, "utf8");
  writeFileSync(journal.path, `${text.split("\n")[0]}\n`);
  expect(() => new JsonlJournal(options)).toThrow(/ends at record 1, but its head says 2/);
  rmSync(journal.path);
  expect(() => new JsonlJournal(options)).toThrow(/ends at record 0, but its head says 2/);
});

test("a journal whose last line is not an event is not continued", async () => {
  const options = await place();
  const journal = new JsonlJournal(options);
  await journal.append([draft("x")]);
  await journal.close();
  execFileSync("sh", ["-c", `echo nonsense >> '${journal.path}'`]);
  expect(() => new JsonlJournal(options)).toThrow(/damaged/);
});

test("a full disk leaves no half of a line, and the journal goes on when there is room again", async () => {
  const options = await place();
  const program = `
    import { JsonlJournal } from "@autonous/runtime/internal";
    const journal = new JsonlJournal(${JSON.stringify(options)});
    const draft = (content) => ({ ...${JSON.stringify(draft(""))}, payload: { content } });
    await journal.append([draft("fits")]);
    const refused = await journal.append([draft("x".repeat(20_000))]).catch((error) => error.message);
    await journal.append([draft("fits too")]);
    console.log(JSON.stringify(refused));
  `;
  // A limit on the size of files does to a write what a full disk does: part of it, then an error.
  const output = execFileSync(
    "bash",
    ["-c", 'ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, program],
    {
      cwd: import.meta.dirname,
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source", NODE_COMPILE_CACHE: undefined },
    },
  );
  expect(output).toMatch(/only \d+ of \d+ bytes|EFBIG/);
  const file = join(options.state_dir, "runs/run_1/events.jsonl");
  expect(await verifyAudit(file, { heads: options.heads })).toEqual({ ok: true, records: 2, problems: [] });
});
