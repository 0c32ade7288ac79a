/** What a quota counts. */
export const COUNTED = ["calls", "executions", "tokens", "bytes_written"] as const;
export type CountedResource = (typeof COUNTED)[number];
