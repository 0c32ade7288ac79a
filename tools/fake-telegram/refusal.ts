/** What the Bot API answers when it does not do what it was asked. */
export class Refusal extends Error {
  readonly status: number;
  readonly retry_after: number | undefined;

  constructor(status: number, description: string, retry_after?: number) {
    super(description);
    this.status = status;
    this.retry_after = retry_after;
  }

  /** As the Bot API words it on the wire. */
  get body(): object {
    return {
      ok: false,
      error_code: this.status,
      description: this.message,
      ...(this.retry_after === undefined ? {} : { parameters: { retry_after: this.retry_after } }),
    };
  }
}

export function badRequest(why: string): Refusal {
  return new Refusal(400, `Bad Request: ${why}`);
}

export function tooMany(retry_after: number): Refusal {
  return new Refusal(429, `Too Many Requests: retry after ${retry_after}`, retry_after);
}
