/** What comes with a refusal, for the bot to act on. */
interface RefusalParameters {
  readonly retry_after?: number;
  readonly migrate_to_chat_id?: number;
}

/** What the Bot API answers when it does not do what it was asked. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameters: RefusalParameters;

  constructor(status: number, description: string, parameters: RefusalParameters = {}) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }

  /** As the Bot API words it on the wire. */
  get body(): object {
    return {
      ok: false,
      error_code: this.status,
      description: this.message,
      ...(Object.keys(this.parameters).length === 0 ? {} : { parameters: this.parameters }),
    };
  }
}

export function badRequest(why: string): Refusal {
  return new Refusal(400, `Bad Request: ${why}`);
}

export function tooMany(retry_after: number): Refusal {
  return new Refusal(429, `Too Many Requests: retry after ${retry_after}`, { retry_after });
}
