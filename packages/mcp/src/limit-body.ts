import { MCPLimitError } from './errors.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** The beginning of the line with an event's id. Another request can continue the stream from that id. */
const ID_FIELD = 'id:';

/**
 * Returns the response with a body that fails with MCPLimitError as soon as it is larger than allowed. In an event stream each event is
 * measured by itself.
 * @param ended called once when the body has ended, with the error that ended it, if any; not called for an event stream with ids, because
 * another request may continue it
 */
export function limitBody(response: Response, maxBytes: number, ended: (reason: unknown) => void): Response {
  const { body, status, statusText, headers } = response;
  if (!body) {
    ended(undefined);
    return response;
  }
  const isEvents = headers.get('content-type')?.includes('text/event-stream') === true;
  const counter = isEvents ? new EventSizes() : new TotalSize();
  const reader = body.getReader();
  let isReported = false;
  const report = (reason?: unknown): void => {
    if (!isReported) ended(reason);
    isReported = true;
  };
  const limited = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (done) {
          controller.close();
          if (!counter.isResumable) report();
          return;
        }
        if (counter.add(value) > maxBytes) throw new MCPLimitError(tooLarge(maxBytes));
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        if (!counter.isResumable || MCPLimitError.isInstance(error)) report(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    async cancel(reason) {
      report(reason);
      await reader.cancel(reason);
    },
  });
  return new Response(limited, { status, statusText, headers });
}

/** Returns the message of the error for a message of the server that is too large. */
export function tooLarge(maxBytes: number): string {
  return `a message has more than ${maxBytes} bytes; raise maxMessageBytes if the server may send such messages`;
}

/** Counts the bytes of a body. */
class TotalSize {
  readonly isResumable = false;
  #bytes = 0;

  add(chunk: Uint8Array): number {
    return (this.#bytes += chunk.byteLength);
  }
}

/** Counts the bytes of each event of a stream, which ends with an empty line. */
class EventSizes {
  isResumable = false;
  #bytes = 0;
  /** Bytes of the line so far. */
  #line = 0;
  /** The first bytes of the line. */
  #head = '';
  #last = 0;

  /** Returns the size of the largest event that the chunk belongs to, in bytes. */
  add(chunk: Uint8Array): number {
    let largest = 0;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#addPart(chunk, start, end);
      this.#bytes++;
      largest = Math.max(largest, this.#bytes);
      if (this.#line === 0 || (this.#line === 1 && this.#last === CARRIAGE_RETURN)) this.#bytes = 0;
      this.#line = 0;
      this.#head = '';
      start = end + 1;
    }
    this.#addPart(chunk, start, chunk.byteLength);
    return Math.max(largest, this.#bytes);
  }

  #addPart(chunk: Uint8Array, start: number, end: number): void {
    if (start === end) return;
    const missing = ID_FIELD.length - this.#head.length;
    if (missing > 0) this.#head += String.fromCharCode(...chunk.subarray(start, Math.min(end, start + missing)));
    if (this.#head === ID_FIELD) this.isResumable = true;
    this.#line += end - start;
    this.#bytes += end - start;
    this.#last = chunk[end - 1] ?? 0;
  }
}
