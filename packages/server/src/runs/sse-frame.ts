/**
 * One server-sent event: the JSON text of an event of a run, which holds no line break. Clients such as the ADK's take a frame only if it
 * begins with `data: `, so the event's number is left out unless the client asked for it.
 * @param seq the number of the event in its run, for a client that asked for numbers
 */
export function sseFrame(json: string, seq?: number): string {
  return seq === undefined ? `data: ${json}\n\n` : `id: ${seq}\ndata: ${json}\n\n`;
}

/** Keeps a silent connection open. A block of its own, so that the next frame still begins with `data: `. */
export const SSE_HEARTBEAT = ': heartbeat\n\n';

/** Asks the client to connect again after so many milliseconds. */
export function sseRetry(delayMs: number): string {
  return `retry: ${delayMs}\n\n`;
}
