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

/** Resolves a name to all of its addresses, as text. */
type Resolver = (host: string) => Promise<readonly string[]>;

/** Connects to the first of these addresses that responds. */
type Dial = (addresses: readonly string[], port: number) => Socket;

export interface ConnectOptions {
  readonly signal: AbortSignal;
  readonly resolve?: Resolver | undefined;
  /** Default: the system's resolver, and the connected address is checked again. */
  readonly dial?: Dial | undefined;
  /** The certificate authority to trust instead of the system's. */
  readonly ca?: string | undefined;
}

const THIS_MACHINE = ["127.0.0.1", "::1"] as const;

/**
 * A connection to a checked address only: the name is resolved once, all its addresses are checked, and only these are
 * tried. So a later change of the name (DNS rebinding) has no effect. The caller closes it.
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

/** The addresses of the target. Throws `NetworkDenied` if one of them is always blocked. */
export async function checkAddresses(target: Target, options: ConnectOptions): Promise<readonly string[]> {
  const { signal, resolve = resolveBySystem } = options;
  const addresses = await unlessAborted(checkedAddresses(target, resolve), signal);
  signal.throwIfAborted();
  return addresses;
}

function dialChecked(addresses: readonly string[], port: number): Socket {
  // Not the name, which must not be resolved again.
  return connect({
    host: "checked.invalid",
    port,
    lookup: answerWith(addresses),
    autoSelectFamily: true,
    noDelay: true,
  });
}

/** TLS over such a connection. The certificate must be valid for the host, whatever the environment says. */
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
  // This name is not resolved: a resolver that maps it to another machine is wrong.
  const addresses = target.host === "localhost" ? THIS_MACHINE : await resolveName(target, resolve);
  for (const address of addresses) {
    // One blocked address blocks the name: a name with both public and private addresses is an attack.
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

/** Waits for the event. On an error or an abort before it, destroys the socket. */
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
