import type { RunFormat, RunReader, RunSink, StreamEnd } from './run-reader.ts';
import type { RunFrame } from './run-relay.ts';

/** A frame of a run. An error that is not a frame of the run has no position. */
export type ReadFrame = Omit<RunFrame, 'position'> & Partial<RunFrame>;

/** The frames of a run, several at a time. A heartbeat is an empty list. */
type FramesBody = ReadableStream<readonly ReadFrame[]> | readonly ReadFrame[];

/** The frames themselves without those of the user, for code of this process. */
export const FRAMES: RunFormat<FramesBody> = {
  whole: withoutUser,
  open: (reader: RunReader) =>
    new ReadableStream<readonly ReadFrame[]>(
      {
        start: (controller) => reader.start(new FrameSink(controller)),
        pull: () => reader.pull(),
        cancel: () => reader.cancel(),
      },
      { highWaterMark: 0 },
    ),
};

function withoutUser(frames: readonly RunFrame[]): readonly RunFrame[] {
  return frames.some(({ isOfUser }) => isOfUser) ? frames.filter(({ isOfUser }) => !isOfUser) : frames;
}

class FrameSink implements RunSink {
  readonly #controller: ReadableStreamDefaultController<readonly ReadFrame[]>;
  readonly hasParts = false;

  constructor(controller: ReadableStreamDefaultController<readonly ReadFrame[]>) {
    this.#controller = controller;
  }

  send(frames: readonly RunFrame[], end?: StreamEnd): 'nothing' | 'sent' | 'ended' {
    const read = withoutUser(frames);
    const all = end?.error ? [...read, { json: JSON.stringify(end.error) }] : read;
    if (all.length > 0) this.#controller.enqueue(all);
    if (end) return 'ended';
    return all.length > 0 ? 'sent' : 'nothing';
  }

  sendHeartbeat(): void {
    this.#controller.enqueue([]);
  }

  sendRetry(): void {
    // Only clients reconnect.
  }

  sendPart(): boolean {
    return false;
  }

  release(): void {
    // Frames are not sent in parts.
  }

  close(): void {
    this.#controller.close();
  }

  fail(error: Error): void {
    this.#controller.error(error);
  }
}

/**
 * Yields the frames of a run as they come, until its end, or until the signal fires; undefined for a heartbeat. (A pipe of workerd with a
 * signal waits for the next frames.)
 */
export async function* readFrames(
  body: FramesBody | undefined,
  signal?: AbortSignal,
): AsyncGenerator<ReadFrame | undefined, void, undefined> {
  if (body === undefined || !('getReader' in body)) return yield* body ?? [];
  const reader = body.getReader();
  // The read of a failed stream throws the error of the stream.
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', leave);
  try {
    if (signal?.aborted) return;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (next.value.length === 0) yield undefined;
      else yield* next.value;
    }
  } finally {
    signal?.removeEventListener('abort', leave);
    leave();
  }
}
