import type { Target } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";

interface NetworkFailure {
  readonly why: string;
  readonly hint: string;
}

const TRY_AGAIN = "Retry later, or check that the server is running.";
const CERTIFICATE = "The server cannot be trusted; use another address.";

// oxfmt-ignore
const FAILURES: Readonly<Record<string, NetworkFailure>> = {
  ENOTFOUND:     { why: "host not found",                             hint: "Check the spelling of the host name." },
  ENODATA:       { why: "host not found",                             hint: "Check the spelling of the host name." },
  EAI_AGAIN:     { why: "the DNS lookup failed temporarily",          hint: TRY_AGAIN },
  EAI_NODATA:    { why: "host not found",                             hint: "Check the spelling of the host name." },
  ECONNREFUSED:  { why: "connection refused",                         hint: "Check the port; start the server if it is yours." },
  ECONNRESET:    { why: "the server closed the connection",           hint: TRY_AGAIN },
  EPIPE:         { why: "the server closed the connection",           hint: TRY_AGAIN },
  ETIMEDOUT:     { why: "the server did not answer",                  hint: TRY_AGAIN },
  EHOSTUNREACH:  { why: "the host is unreachable",                    hint: TRY_AGAIN },
  ENETUNREACH:   { why: "the network is unreachable",                 hint: TRY_AGAIN },
  EADDRNOTAVAIL: { why: "the network is unreachable",                 hint: TRY_AGAIN },
  CERT_HAS_EXPIRED:                { why: "its certificate has expired",                 hint: CERTIFICATE },
  CERT_NOT_YET_VALID:              { why: "its certificate is not valid yet",            hint: CERTIFICATE },
  DEPTH_ZERO_SELF_SIGNED_CERT:     { why: "its certificate is self-signed",         hint: CERTIFICATE },
  SELF_SIGNED_CERT_IN_CHAIN:       { why: "its certificate is not from a known authority", hint: CERTIFICATE },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { why: "its certificate is not from a known authority", hint: CERTIFICATE },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { why: "its certificate is not from a known authority", hint: CERTIFICATE },
  ERR_TLS_CERT_ALTNAME_INVALID:    { why: "its certificate is for another host",         hint: CERTIFICATE },
  HPE_HEADER_OVERFLOW:             { why: "its headers are too long",                    hint: "Use another address." },
};

const UNKNOWN_HINT = "Check the address and retry.";

/** Converts a connection error. The system's own message is not passed on: it names resolved addresses. */
export function asNetworkError(error: unknown, { host, port }: Pick<Target, "host" | "port">): ToolError {
  if (error instanceof ToolError) return error;
  const code = codeOf(error);
  const { why, hint } = FAILURES[code] ?? { why: describeCode(code), hint: UNKNOWN_HINT };
  return new ToolError(
    "IOError",
    `Cannot reach "${host}" on port ${port}: ${why}`,
    { host, port, reason: code, hint },
    error,
  );
}

function codeOf(error: unknown): string {
  // Several addresses were tried: reports the error of the last one.
  if (error instanceof AggregateError) return codeOf(error.errors.at(-1));
  return (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
}

function describeCode(code: string): string {
  if (code.startsWith("HPE_")) return "it does not speak HTTP";
  if (code.startsWith("ERR_SSL") || code.startsWith("ERR_TLS") || code === "EPROTO") return "the TLS handshake failed";
  return `the connection failed (${code})`;
}
