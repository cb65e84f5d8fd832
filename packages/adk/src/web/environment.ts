/** Returns undefined: outside Node there are no environment variables. */
export function readVariable(_name: string): string | undefined {
  return undefined;
}
