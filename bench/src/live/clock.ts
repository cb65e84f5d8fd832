/** Returns the milliseconds of a clock that all processes of this machine share. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
