import { diffLines } from "../../channels/terminal/diff-lines.ts";
import { moreLines } from "../../channels/terminal/output-lines.ts";
import { stderrScreen } from "../session/approver.ts";
import { UsageError } from "../command.ts";
import { showResult } from "../output/show-result.ts";
import { count } from "../usage.ts";
import type { MessageChanges } from "./chat-record.ts";
import { recordOf } from "./conversation.ts";
import type { Chat } from "./conversation.ts";

/** Undoes the changes of the latest message that has any left, also from before a resume. */
export async function undoLast(chat: Chat): Promise<void> {
  const { session, news, print, signal } = chat;
  const last = await lastChanges(chat);
  if (last === undefined) {
    if (print.json) return print.document({ ok: true, undone: [] });
    return print.note("Nothing to undo: no message of this chat has changed a file");
  }
  const files = new Set<string>();
  for (const undo_id of last.undo_ids.toReversed()) {
    const result = await session.runtime.undo(undo_id, { signal });
    if (print.json) print.document(result);
    else showResult(result, print);
    if (result.error !== null) break;
    for (const file of result.artifacts.files_changed) files.add(file);
  }
  if (files.size > 0) news.push(`(I undid your last changes: ${[...files].join(", ")})`);
}

async function lastChanges(chat: Chat): Promise<MessageChanges | undefined> {
  return (await recordOf(chat)).changes.at(-1);
}

/** A few screens; the files have the rest. */
const MOST_LINES = 200;

export async function showDiff(chat: Chat, which: string): Promise<void> {
  const { session, print, signal } = chat;
  if (which !== "" && which !== "last") throw new UsageError(`Unknown argument "${which}" for /diff; it takes "last"`);
  const only = which === "last" ? { undo_ids: (await lastChanges(chat))?.undo_ids ?? [] } : {};
  const changes = await session.runtime.changes({ signal, ...only });
  if (print.json) return print.document({ changes });
  if (changes.length === 0) return print.note("No changes: every file is as it was before");
  const text = changes.map(({ path, diff }) => (/^(?:---|diff )/.test(diff) ? diff : `${path}: ${diff}`)).join("");
  const { lines, more } = diffLines(text, { screen: stderrScreen(), width: print.noteWidth ?? 200, most: MOST_LINES });
  stderrScreen().print(lines);
  const cut = changes.filter(({ truncated }) => truncated).length;
  const missing = [...(more > 0 ? [moreLines(more)] : []), ...(cut > 0 ? [`${count(cut, "file")} shown in part`] : [])];
  if (missing.length > 0) print.note(`[truncated: ${missing.join("; ")}]`);
}
