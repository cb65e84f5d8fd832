/** Returns undefined: outside Node there are no environment variables. */
export function readVariable(_name: string): string | undefined {
  return undefined;
}

/** Returns undefined: outside Node there is no file `.env`. */
export function readUnsetVariable(_name: string): string | undefined {
  return undefined;
}
