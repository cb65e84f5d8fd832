import type { FollowedRun } from '../runs/followed-run.ts';
import type { RunReader } from '../runs/run-reader.ts';

/** Names the run that an answer is of. */
export const INVOCATION_ID_HEADER = 'Eventloom-Invocation-Id';

/** Set to `1` by a client that wants the number of each event as the `id` of its frame. */
export const EVENT_IDS_HEADER = 'Eventloom-Event-Ids';

/** An answer that streams a run. */
export function sseResponse(run: FollowedRun, reader: RunReader): Response {
  return new Response(reader.stream, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // Keeps reverse proxies from holding the stream back.
      'x-accel-buffering': 'no',
      [INVOCATION_ID_HEADER]: run.invocationId,
    },
  });
}
