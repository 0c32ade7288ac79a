import { PROXY_SOCKET } from "./bwrap.ts";

/** Usual for proxies. No other process is in the command's network, so it is free. */
const PORT = 3128;
const ADDRESS = `http://127.0.0.1:${PORT}`;

/** Where programs look for a proxy. What they reach without one is the sandbox's own loopback. */
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
 * Programs take a proxy by its port, and the proxy is a socket in the file system: this passes bytes from one to the
 * other. It may do no more than the command, which can reach the same socket, so nothing is to be gained in it. Says
 * `ready` and closes its output when connections are taken. Text, for it runs as a program of its own.
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
  /** Not the relay's business. */
  readonly status_fd: number;
}

/**
 * Lines for bash that start the relay and wait until it is ready, or end the shell. The substitution is over when its
 * output is closed, and what it started belongs to none of the shell's jobs: `wait`, `jobs` and `$!` are the command's.
 */
export function relayLines({ program, status_fd }: RelayFacts): readonly string[] {
  const start = [program, "--disable-sigusr1", "--input-type=commonjs", "--eval", RELAY].map(quote).join(" ");
  return [
    `[ "$(NODE_OPTIONS= NODE_EXTRA_CA_CERTS= ${start} </dev/null ${status_fd}>&- &)" = ready ] || { echo "the relay to the proxy failed" >&2; exit 1; }`,
  ];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
