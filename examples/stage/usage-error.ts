/** Thrown for arguments on the command line that an example cannot use. The message gives the reason or the allowed arguments. */
export class UsageError extends Error {}
