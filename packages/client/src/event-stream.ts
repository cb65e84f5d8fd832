/** An event of a stream of server-sent events. The client uses neither its type nor the delay that it may ask for. */
export interface Frame {
  readonly id?: string | undefined;
  readonly data: string;
}

/**
 * Yields the frames of a stream of server-sent events, until it ends or no byte has come for `idleMs`: a connection that another device has
 * dropped stays open and silent. Closes the connection when the reader leaves or the signal fires, and throws its reason.
 */
export async function* framesOf(
  { body }: Response,
  idleMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame, void, undefined> {
  const toFrames = createFrameParser();
  const reader = body?.pipeThrough(new TextDecoderStream(), { signal: signal as AbortSignal }).getReader();
  if (!reader) return;
  // `cancel` ends a read. It rejects for a stream that failed; that failure is thrown by the read.
  const close = (): void => void reader.cancel().catch(() => undefined);
  let timer;
  try {
    for (;;) {
      timer = setTimeout(close, idleMs);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      yield* toFrames(value);
    }
  } finally {
    clearTimeout(timer);
    close();
  }
}

const FIELD = /^(data|id)(?:: ?(.*))?$/s;

/**
 * Returns a function that is called with one text of a stream after the other, and returns the frames that each completes. (HTML standard,
 * 9.2.6 "Interpreting an event stream".)
 */
export function createFrameParser(): (text: string) => Frame[] {
  // The texts of the line that has no end yet: a long line comes in many, of which each is searched once.
  let pieces: string[] = [];
  let data: string[] = [];
  let id: string | undefined;
  let isAfterReturn = false;
  return (text) => {
    const frames: Frame[] = [];
    // A line feed belongs to the carriage return before it.
    const lines = text.slice(isAfterReturn && text[0] === '\n' ? 1 : 0).split(/\r\n?|\n/);
    isAfterReturn = text ? text.endsWith('\r') : isAfterReturn;
    const rest = lines.pop() ?? '';
    for (const end of lines) {
      const line = pieces.join('') + end;
      pieces = [];
      const [, name, value = ''] = FIELD.exec(line) ?? [];
      if (name === 'id') id = value;
      else if (name) data.push(value);
      if (line) continue;
      if (data[0] !== undefined) frames.push({ id, data: data.join('\n') });
      data = [];
      id = undefined;
    }
    if (rest) pieces.push(rest);
    return frames;
  };
}
