/** Thrown for words on the command line that an example does not know. The message says which there are. */
export class UsageError extends Error {}
