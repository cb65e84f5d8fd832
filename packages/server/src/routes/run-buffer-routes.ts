import { InvalidRequestError } from '@eventloom/core';
import { type Call, parseCount } from '../http/call.ts';
import { jsonResponse, INVOCATION_ID_HEADER, sseResponse } from '../http/responses.ts';
import type { Route } from '../http/route.ts';
import { seqInAttempt } from '../runs/attempt-numbers.ts';
import type { FollowedRun } from '../runs/followed-run.ts';

const RUN = '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs/{invocationId}';

function follow(call: Call): Promise<Response> {
  const key = call.sessionKey();
  const afterSeq = lastEventId(call);
  return call.server.runs.use(key, call.param('invocationId'), afterSeq, (run) => read(call, run, afterSeq));
}

function read({ server }: Call, run: FollowedRun, afterSeq: number): Response {
  if (run.isUpToDate && afterSeq > run.finalSeq) {
    throw new InvalidRequestError(`lastEventId: is ${afterSeq}, and the run has ${run.finalSeq} events`);
  }
  if (!run.isEnded || hasMore(run, afterSeq)) return sseResponse(run, server.runs.read(run, afterSeq));
  if (run.loss) throw run.loss;
  // An EventSource connects again after every end, until it is answered that there is no more.
  return new Response(null, { status: 204, headers: { [INVOCATION_ID_HEADER]: run.invocationId } });
}

function hasMore(run: FollowedRun, afterSeq: number): boolean {
  return seqInAttempt(afterSeq, run.buffer.firstSeq) < run.finalSeq || run.earlier(afterSeq)?.next().done === false;
}

async function cancel(call: Call): Promise<Response> {
  const { live, runs } = call.server;
  const key = call.sessionKey();
  const invocationId = call.param('invocationId');
  if (!(await live?.cancel(key, invocationId))) await runs.cancel(key, invocationId);
  return jsonResponse(null);
}

/** The header is what a browser sends by itself when it connects again; the query is for who cannot set one. */
function lastEventId(call: Call): number {
  const header = call.header('last-event-id');
  if (header !== undefined && header !== '') return parseCount('Last-Event-ID', header);
  return call.queryInteger('lastEventId') ?? 0;
}

/** Runs in flight, or just ended: followed again, and cancelled. */
export const runBufferRoutes: readonly Route[] = [
  {
    method: 'get',
    path: RUN,
    operationId: 'followRun',
    summary: 'Streams the events of a run that is in flight or just ended; 204 when it ended and there is no more',
    query: {
      lastEventId: { type: 'integer', description: 'The id of the last event that came; what follows it is streamed.' },
    },
    headers: { 'Last-Event-ID': 'The same, and it wins.' },
    answer: { stream: 'Event' },
    noContent: 'The run has ended, and there is no more',
    errors: [410, 429, 503],
    handle: follow,
  },
  {
    method: 'delete',
    path: RUN,
    operationId: 'cancelRun',
    summary: 'Ends a run in flight; what it committed stays. A run that ended already is left as it is',
    answer: { schema: { type: 'null' } },
    errors: [503],
    handle: cancel,
  },
];
