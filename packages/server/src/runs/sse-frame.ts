/** One server-sent event: its number in the run and its JSON text, which holds no line break. */
export function sseFrame(seq: number, json: string): string {
  return `id: ${seq}\ndata: ${json}\n\n`;
}

/** A line that says something of the connection and is no event of the run: it has no number, so a reconnect is not told to skip it. */
export function sseNotice(json: string): string {
  return `data: ${json}\n\n`;
}

/** Keeps a silent connection open. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';

/** Asks the client to connect again after so many milliseconds. */
export function sseRetry(delayMs: number): string {
  return `retry: ${delayMs}\n\n`;
}
