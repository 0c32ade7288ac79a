/** When phones stay quiet, in minutes since midnight. */
export interface QuietHours {
  readonly from_minute: number;
  readonly to_minute: number;
  /** Left out: that of the machine. */
  readonly time_zone?: string;
}

/** The end is no longer part of them. They may go past midnight. */
export function isQuietAt({ from_minute, to_minute, time_zone }: QuietHours, now: number): boolean {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const zone = time_zone === undefined ? {} : { timeZone: time_zone };
  const [hour = 0, minute = 0] = new Intl.DateTimeFormat("en-GB", { ...options, ...zone })
    .format(now)
    .split(":")
    .map(Number);
  const at = hour * 60 + minute;
  return from_minute < to_minute ? at >= from_minute && at < to_minute : at >= from_minute || at < to_minute;
}
