const TIME = { hour: 'numeric', minute: '2-digit', second: '2-digit' } as const;
const CLOCK = new Intl.DateTimeFormat(undefined, TIME);
const PRECISE = new Intl.DateTimeFormat(undefined, { ...TIME, fractionalSecondDigits: 3 });

/** Returns a time of day by the person's clock. @param timestamp seconds since the epoch */
export function clockOf(timestamp: number): string {
  return CLOCK.format(timestamp * 1000);
}

/** Returns a time of day with its milliseconds. @param timestamp seconds since the epoch */
export function preciseClockOf(timestamp: number): string {
  return PRECISE.format(timestamp * 1000);
}
