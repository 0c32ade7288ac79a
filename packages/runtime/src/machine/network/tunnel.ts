import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface Counted {
  readonly bytes_sent: number;
  readonly bytes_received: number;
}

interface Ends {
  readonly client: Duplex;
  readonly upstream: Socket;
  /** What the client sent right behind its request. */
  readonly head: Buffer;
}

/** Passes bytes both ways until both ends are done, or one is gone. Never throws; nothing is left open. */
export async function tunnel({ client, upstream, head }: Ends, idleMs: number): Promise<Counted> {
  upstream.setTimeout(idleMs, () => upstream.destroy());
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  if (head.length > 0) upstream.write(head);
  client.pipe(upstream);
  upstream.pipe(client);
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = 2;
  for (const [end, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    end.on("error", () => end.destroy());
    end.once("close", () => {
      // Flush what is still buffered for the other end, unless this one was cut off; then close it: its peer is gone.
      if (end.readableEnded) other.end(() => other.destroy());
      else other.destroy();
      if (--open === 0) resolve();
    });
  }
  if (client.destroyed) upstream.destroy();
  await promise;
  return { bytes_sent: upstream.bytesWritten, bytes_received: upstream.bytesRead };
}
