import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { Cursors } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";

const SEAL_CHARACTERS = 16; // 96 bits

/**
 * Cursors contain their position and are sealed with the state folder's key, so that they work after a restart; the key
 * is requested only if there is a cursor. `boundTo`: the tool and the arguments that the position depends on.
 */
export function createCursors(key: () => Uint8Array): Cursors {
  function sealOf(body: string, boundTo: unknown): string {
    const binding = hash("sha256", JSON.stringify(boundTo) ?? "", "hex");
    return createHmac("sha256", key()).update(`${binding}.${body}`).digest("base64url").slice(0, SEAL_CHARACTERS);
  }
  return {
    seal(position, boundTo) {
      const body = Buffer.from(JSON.stringify(position)).toString("base64url");
      return `${body}.${sealOf(body, boundTo)}`;
    },
    open(cursor, boundTo) {
      const [body = "", seal = "", ...rest] = cursor.split(".");
      const given = Buffer.from(seal);
      const wanted = Buffer.from(sealOf(body, boundTo));
      if (rest.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
        throw new ToolError(
          "InvalidCursor",
          "Cannot continue from this cursor: it was altered, or created by another call",
          {
            field: "cursor",
          },
        );
      }
      return JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as unknown;
    },
  };
}
