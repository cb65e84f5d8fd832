/** Thrown for words on the command line that an example cannot use. The message says why, or which there are. */
export class UsageError extends Error {}
