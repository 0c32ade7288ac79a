/** What the lanes of chats over HTTP begin with; those of other channels begin with the channel's name. */
export const HTTP_LANE = "http:";

/** The lane that people mean: as tasks have it (`telegram:7`), or the name of a chat over HTTP. */
export function laneOf(chat: string): string {
  const name = chat.normalize("NFC");
  return name.includes(":") ? name : `${HTTP_LANE}${name}`;
}
