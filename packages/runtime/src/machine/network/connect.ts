import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";
import { judgeResolved } from "../../policy/check-address.ts";
import type { Target } from "../../policy/check-address.ts";
import { parseAddress } from "../../policy/addresses.ts";
import { ToolError } from "../../protocol/errors.ts";
import { asNetworkError } from "./network-error.ts";
import { unlessAborted } from "../../protocol/pause.ts";

/** All addresses of a name, as text. */
type Resolver = (host: string) => Promise<readonly string[]>;

/** Opens a connection to the first of these addresses that answers. */
type Dial = (addresses: readonly string[], port: number) => Socket;

export interface ConnectOptions {
  readonly signal: AbortSignal;
  readonly resolve?: Resolver | undefined;
  /** Left out: the system's own way, whose outcome is held against the addresses. */
  readonly dial?: Dial | undefined;
  /** The authority to trust instead of the system's. */
  readonly ca?: string | undefined;
}

const THIS_MACHINE = ["127.0.0.1", "::1"] as const;

/**
 * A connection to an address that was judged, and to no other: the name is resolved once, every address it leads to is
 * looked at, and only these are tried. So what a name leads to a moment later does not matter. The caller ends it.
 */
export async function connectChecked(target: Target, options: ConnectOptions): Promise<Socket> {
  const { signal, dial } = options;
  const addresses = await checkAddresses(target, options);
  const socket = (dial ?? dialChecked)(addresses, target.port);
  socket.on("error", () => {}); // the code that waits for it reports it; later errors do not matter
  await untilEvent(socket, "connect", { signal, target });
  if (dial === undefined && !isOneOf(socket.remoteAddress, addresses)) {
    socket.destroy();
    throw new ToolError(
      "NetworkDenied",
      `Cannot reach "${target.host}": the connection did not go to the checked address`,
    );
  }
  return socket;
}

/** Where the target leads to. Throws `NetworkDenied` where that is a place that is never reached. */
export async function checkAddresses(target: Target, options: ConnectOptions): Promise<readonly string[]> {
  const { signal, resolve = resolveBySystem } = options;
  const addresses = await unlessAborted(checkedAddresses(target, resolve), signal);
  signal.throwIfAborted();
  return addresses;
}

function dialChecked(addresses: readonly string[], port: number): Socket {
  // Not the name: nothing may look it up again.
  return connect({
    host: "checked.invalid",
    port,
    lookup: answerWith(addresses),
    autoSelectFamily: true,
    noDelay: true,
  });
}

/** TLS over such a connection. The certificate has to be good for the host, whatever the environment says. */
export async function secure(socket: Socket, target: Target, { signal, ca }: ConnectOptions): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    ...(target.address === undefined ? { servername: target.host } : { host: target.host }),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  });
  secured.on("error", () => {}); // as above
  await untilEvent(secured, "secureConnect", { signal, target });
  return secured;
}

async function checkedAddresses(target: Target, resolve: Resolver): Promise<readonly string[]> {
  if (target.address !== undefined) return [target.host];
  // This name is not asked for: a resolver that answers it with another machine is wrong.
  const addresses = target.host === "localhost" ? THIS_MACHINE : await resolveName(target, resolve);
  for (const address of addresses) {
    // One closed address closes the name: a name that leads both outside and inside is a trick.
    const closed = judgeResolved(target, address);
    if (closed === undefined) continue;
    throw new ToolError("NetworkDenied", `Cannot reach "${target.host}": ${closed.reason}, which is always blocked`, {
      host: target.host,
      hint: "Use a public address. A local service must be on the allowlist by address and port.",
    });
  }
  return addresses;
}

async function resolveName(target: Target, resolve: Resolver): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(target.host);
  } catch (error) {
    throw asNetworkError(error, target);
  }
  if (addresses.length > 0) return addresses;
  throw asNetworkError(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), target);
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}

function answerWith(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return (_host, options, answer) => {
    const [first = { address: "", family: 4 }] = all;
    if (options.all === true) answer(null, all);
    else answer(null, first.address, first.family);
  };
}

function isOneOf(remote: string | undefined, addresses: readonly string[]): boolean {
  const bytes = remote === undefined ? undefined : parseAddress(remote);
  return bytes !== undefined && addresses.some((each) => Buffer.compare(parseAddress(each) ?? EMPTY, bytes) === 0);
}

const EMPTY = new Uint8Array();

/** Waits for the event; an error or the signal before it ends the socket. */
async function untilEvent(
  socket: Socket,
  event: "connect" | "secureConnect",
  { signal, target }: { readonly signal: AbortSignal; readonly target: Target },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onError = (error: Error): void => reject(asNetworkError(error, target));
  const onClose = (): void => onError(Object.assign(new Error("closed"), { code: "ECONNRESET" }));
  const onAbort = (): void => reject(signal.reason as Error);
  socket.once(event, resolve).once("error", onError).once("close", onClose);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    socket.off("error", onError).off("close", onClose).off(event, resolve);
    signal.removeEventListener("abort", onAbort);
  }
}
