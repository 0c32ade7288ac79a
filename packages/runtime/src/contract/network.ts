/** One request. Nothing is sent before its address was evaluated. */
export interface NetworkRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Limit for the decompressed body. The rest is not read. */
  readonly max_bytes: number;
  readonly timeout_ms: number;
}

export interface NetworkResponse {
  /** The final URL, after redirects. */
  readonly url: string;
  /** The URLs that redirected, in order. */
  readonly redirects: readonly string[];
  readonly status: number;
  readonly status_text: string;
  /** By lower-case name. For cookies, only the count. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed, unless `encoding` is set. */
  readonly body: Uint8Array;
  /** The remaining content encoding, if it is not supported. */
  readonly encoding: string | undefined;
  /** The body was longer than `max_bytes`. */
  readonly truncated: boolean;
}

/**
 * Network access within the allowlist. Each address is evaluated when connecting, independent of the name or redirect
 * that led there. Throws `NetworkDenied`, `InvalidArguments`, `IOError`, `Timeout`; an HTTP error status does not
 * throw.
 */
export interface ToolNetwork {
  request(request: NetworkRequest): Promise<NetworkResponse>;
}
