import { InvalidRequestError, RunAbortedError } from '@eventloom/core';
import { type Call, parseCount } from '../http/call.ts';
import { jsonResponse } from '../http/json-response.ts';
import type { Route } from '../http/route.ts';
import { INVOCATION_ID_HEADER, sseResponse } from '../http/sse-response.ts';
import type { HostedRun } from '../runs/hosted-run.ts';

const RUN = '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs/{invocationId}';

function follow(call: Call): Response {
  const run = findRun(call);
  const afterSeq = lastEventId(call);
  if (afterSeq > run.finalSeq) {
    throw new InvalidRequestError(`lastEventId: is ${afterSeq}, and the run has ${run.finalSeq} events`);
  }
  // An EventSource connects again after every end, until it is answered that there is no more.
  if (run.isEnded && afterSeq === run.finalSeq) {
    return new Response(null, { status: 204, headers: { [INVOCATION_ID_HEADER]: run.invocationId } });
  }
  return sseResponse(run, call.server.runs.read(run, afterSeq));
}

async function cancel(call: Call): Promise<Response> {
  const run = findRun(call);
  if (!run.isEnded) {
    run.abort(new RunAbortedError('the run was cancelled'));
    await run.endedWithin(call.server.limits.answerAfterMs);
  }
  return jsonResponse(null);
}

function findRun(call: Call): HostedRun {
  return call.server.runs.find(call.sessionKey(), call.param('invocationId'));
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
    errors: [410, 429],
    handle: follow,
  },
  {
    method: 'delete',
    path: RUN,
    operationId: 'cancelRun',
    summary: 'Ends a run in flight; what it committed stays. A run that ended already is left as it is',
    answer: { schema: { type: 'null' } },
    handle: cancel,
  },
];
