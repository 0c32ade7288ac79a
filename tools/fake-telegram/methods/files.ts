/** Where a bot may fetch a file that was sent. */
import { fileOnWire } from "../media/files.ts";
import { textOf } from "../parameters.ts";
import { badRequest } from "../refusal.ts";
import type { Asking } from "./asking.ts";

/** What Telegram's own servers give to bots. */
const MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024;

export function getFile({ world, parameters, link_ms }: Asking): object {
  const file_id = textOf(parameters, "file_id");
  if (file_id === "") throw badRequest("file_id not specified");
  const media = world.files.byId.get(file_id);
  if (media === undefined)
    throw badRequest(
      /^[\w-]{20,}$/.test(file_id) ? "wrong file_id or the file is temporarily unavailable" : "invalid file_id",
    );
  const file = [media.file, ...media.sizes.map((size) => size.file)].find((each) => each.file_id === file_id);
  if (file === undefined) throw new Error(`No size of the photo has the file_id ${file_id}`);
  if (file.file_size > MAX_DOWNLOAD_BYTES) throw badRequest("file is too big");
  world.files.links.set(file.path, { file, until_ms: world.now() + link_ms });
  return { ...fileOnWire(file), file_path: file.path };
}
