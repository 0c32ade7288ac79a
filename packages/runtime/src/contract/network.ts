/** One request. Nothing of it is sent before its address was judged. */
export interface NetworkRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the body after it was decompressed. What is beyond is not read. */
  readonly max_bytes: number;
  readonly timeout_ms: number;
}

export interface NetworkResponse {
  /** Where the answer came from, after redirects. */
  readonly url: string;
  /** The addresses that sent on to it, first one first. */
  readonly redirects: readonly string[];
  readonly status: number;
  readonly status_text: string;
  /** By lower-case name. Cookies are only counted. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed, where `encoding` is undefined. */
  readonly body: Uint8Array;
  /** How the body is still encoded, because that is not understood. */
  readonly encoding: string | undefined;
  /** There was more than `max_bytes`. */
  readonly truncated: boolean;
}

/**
 * The network, as far as the allowlist opens it. Each address is judged when it is connected to, whatever name or
 * redirect led there. Throws `NetworkDenied`, `InvalidArguments`, `IOError`, `Timeout`; an answer of any status is none.
 */
export interface ToolNetwork {
  request(request: NetworkRequest): Promise<NetworkResponse>;
}
