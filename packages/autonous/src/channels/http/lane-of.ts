/** Prefix of the lanes of HTTP chats; lanes of other channels begin with the channel's name. */
export const HTTP_LANE = "http:";

/** The lane for a chat that a user names: a full lane (`telegram:7`), or the name of an HTTP chat. */
export function laneOf(chat: string): string {
  const name = chat.normalize("NFC");
  return name.includes(":") ? name : `${HTTP_LANE}${name}`;
}
