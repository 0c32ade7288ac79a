import { badRequest } from "../refusal.ts";
import type { Button } from "../world.ts";

const MAX_DATA_BYTES = 64;
const MAX_BUTTONS = 100;

/** What is below a message, and whether it asks for a reply. Keyboards of the app itself are not shown. */
interface Markup {
  readonly buttons: readonly (readonly Button[])[];
  readonly forces_reply: boolean;
}

export function readMarkup(markup: unknown): Markup {
  if (markup === undefined) return { buttons: [], forces_reply: false };
  if (typeof markup !== "object" || markup === null) throw badRequest("object expected as reply markup");
  const { inline_keyboard: rows, force_reply } = markup as { inline_keyboard?: unknown; force_reply?: unknown };
  if (rows !== undefined) return { buttons: readRows(rows), forces_reply: false };
  return { buttons: [], forces_reply: force_reply === true };
}

function readRows(rows: unknown): readonly (readonly Button[])[] {
  if (!Array.isArray(rows)) throw badRequest(`field "inline_keyboard" of the InlineKeyboardMarkup must be an Array`);
  const read = rows.map((row: unknown) => {
    if (!Array.isArray(row))
      throw badRequest(`field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`);
    return row.map(readButton);
  });
  if (read.flat().length > MAX_BUTTONS) throw badRequest("reply markup is too long");
  return read.filter((row) => row.length > 0);
}

function readButton(given: unknown): Button {
  const button = (typeof given === "object" && given !== null ? given : {}) as Partial<Button>;
  const { text, callback_data, url } = button;
  if (typeof text !== "string") throw badRequest(`can't parse inline keyboard button: Can't find field "text"`);
  if (!text.isWellFormed()) throw badRequest("strings must be encoded in UTF-8");
  if (text === "")
    throw badRequest("can't parse inline keyboard button: Inline keyboard button text must be non-empty");
  if (callback_data === undefined && url === undefined)
    throw badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard");
  if (callback_data !== undefined) {
    const bytes = typeof callback_data === "string" ? Buffer.byteLength(callback_data) : 0;
    if (bytes === 0 || bytes > MAX_DATA_BYTES) throw badRequest("BUTTON_DATA_INVALID");
  }
  return { text, ...(callback_data === undefined ? {} : { callback_data }), ...(url === undefined ? {} : { url }) };
}
