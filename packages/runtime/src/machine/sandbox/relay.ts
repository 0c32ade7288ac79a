import { PROXY_SOCKET } from "./bwrap.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

/** A usual proxy port. Always free: no other process is in the command's network namespace. */
const PORT = 3128;
const ADDRESS = `http://127.0.0.1:${PORT}`;

/** Standard proxy variables. Without a proxy, programs can only reach the sandbox's own loopback. */
// oxfmt-ignore
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  HTTP_PROXY:             ADDRESS,
  HTTPS_PROXY:            ADDRESS,
  ALL_PROXY:              ADDRESS,
  NO_PROXY:               "",
  http_proxy:             ADDRESS,
  https_proxy:            ADDRESS,
  all_proxy:              ADDRESS,
  no_proxy:               "",
  npm_config_proxy:       ADDRESS,
  npm_config_https_proxy: ADDRESS,
  npm_config_noproxy:     "",
  NODE_USE_ENV_PROXY:     "1",
};

/**
 * Programs connect to a proxy by its port, but the proxy listens on a Unix socket: this program forwards bytes between
 * the two. It has no more rights than the command, which can reach the same socket, so attacking it gains nothing.
 * Prints `ready` and closes its output once it accepts connections. A string, because it runs as a separate program.
 */
const RELAY = `
const { closeSync, openSync, writeSync } = require("node:fs");
const { connect, createServer } = require("node:net");
const server = createServer({ allowHalfOpen: true, noDelay: true }, (inside) => {
  const outside = connect({ path: "${PROXY_SOCKET}", allowHalfOpen: true });
  for (const [end, other] of [[inside, outside], [outside, inside]]) {
    end.pipe(other);
    end.on("error", () => end.destroy());
    end.once("close", () => (end.readableEnded ? other.end(() => other.destroy()) : other.destroy()));
  }
});
server.listen(${PORT}, "127.0.0.1", () => {
  writeSync(1, "ready");
  for (const fd of [2, 1]) {
    closeSync(fd);
    openSync("/dev/null", "r+");
  }
});
`;

interface RelayFacts {
  /** Node, by its absolute path. */
  readonly program: string;
  /** Closed for the relay, which must not write to it. */
  readonly status_fd: number;
}

/**
 * Lines for bash that start the relay and wait until it is ready, or exit the shell. The command substitution ends when
 * its output is closed, and the relay is not a job of the shell: `wait`, `jobs` and `$!` belong to the command.
 */
export function relayLines({ program, status_fd }: RelayFacts): readonly string[] {
  const start = [program, "--disable-sigusr1", "--input-type=commonjs", "--eval", RELAY].map(inSingleQuotes).join(" ");
  return [
    `[ "$(NODE_OPTIONS= NODE_EXTRA_CA_CERTS= ${start} </dev/null ${status_fd}>&- &)" = ready ] || { echo "the relay to the proxy failed" >&2; exit 1; }`,
  ];
}
