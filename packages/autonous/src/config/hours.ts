/** Daily hours in minutes since midnight; they may span midnight. */
export interface Hours {
  readonly from_minute: number;
  readonly to_minute: number;
  /** Such as `Europe/Berlin`. Default: the machine's time zone. */
  readonly time_zone?: string;
}

const HOURS = /^(\d{1,2}):(\d\d)\s*[-–]\s*(\d{1,2}):(\d\d)(?:\s+([\w+/-]{1,64}))?$/;
const MINUTES = 60;
const DAY = 24 * MINUTES;

/** `22:00-07:00`, or `22:00-07:00 Europe/Berlin`. Undefined if it is neither. */
export function readHours(text: string): Hours | undefined {
  const [, fromHour, fromMinute, toHour, toMinute, time_zone] = HOURS.exec(text.trim()) ?? [];
  const from_minute = minuteOf(fromHour, fromMinute);
  const to_minute = minuteOf(toHour, toMinute);
  const isWrong = [from_minute, to_minute].some((minute) => Number.isNaN(minute)) || from_minute === to_minute;
  if (isWrong || (time_zone !== undefined && !isTimeZone(time_zone))) return undefined;
  return { from_minute, to_minute, ...(time_zone === undefined ? {} : { time_zone }) };
}

function minuteOf(hour: string | undefined, minute: string | undefined): number {
  const minutes = Number(hour) * MINUTES + Number(minute);
  return Number(minute) < MINUTES && minutes <= DAY ? minutes % DAY : Number.NaN;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return false;
  }
}
