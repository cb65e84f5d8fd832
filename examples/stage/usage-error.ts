/** Thrown for invalid arguments of an example on the command line. The message gives the reason or the allowed arguments. */
export class UsageError extends Error {}
