import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type Event, parseEvent } from 'eventloom';

/** The body of a request to `/run_sse`. */
export interface RunBody {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage: { readonly parts: readonly { readonly text: string }[] };
  readonly streaming?: boolean;
  /** The caller's own id for the message; a new one by default. */
  readonly requestId?: string;
}

/** The server refused the request, or the run failed. The message is the server's. */
export class RunFailedError extends Error {}

/** Sends a message to an agent and yields each event of its run once, however often the connection is lost. */
export async function* followRun(url: string, headers: Record<string, string>, body: RunBody): AsyncGenerator<Event> {
  const { appName, userId, sessionId } = body;
  // The id identifies the run, so that a request that is sent again because its answer was lost does not run twice.
  const request = JSON.stringify({ requestId: randomUUID(), ...body });
  let run: string | undefined;
  let lastEventId = '0';
  for (let lost = 0; ;) {
    try {
      const response: Response =
        run === undefined
          ? // Without the header the frames have no ids.
            await fetch(`${url}/run_sse`, {
              method: 'POST',
              headers: { ...headers, 'eventloom-event-ids': '1' },
              body: request,
            })
          : await fetch(run, { headers: { ...headers, 'last-event-id': lastEventId } });
      // The run has ended, and there are no more events.
      if (response.status === 204) return;
      // The server is busy or shuts down, or the session has another run.
      if (response.headers.has('retry-after')) throw new TypeError(await response.text());
      if (!response.ok) throw new RunFailedError(await response.text());
      const runId = response.headers.get('eventloom-invocation-id');
      run ??= `${url}/apps/${appName}/users/${userId}/sessions/${sessionId}/runs/${runId}`;
      for await (const { id, data } of messagesOf(response)) {
        lastEventId = id ?? lastEventId;
        // The run continues in another process, or when the lease of its session has run out.
        if (isFailure(data) && data.includes('"RUN_GOES_ON"'))
          throw new TypeError('the run continues in another process');
        if (isFailure(data)) throw new RunFailedError(data);
        lost = 0;
        yield parseEvent(data);
      }
    } catch (error) {
      if (error instanceof RunFailedError || ++lost > 8) throw error;
      await setTimeout(1000 * lost);
    }
  }
}

/** True for the last line of a run that failed; an event begins with its id. */
function isFailure(data: string): boolean {
  return data.startsWith('{"error":');
}

/** The messages of a stream of server-sent events. */
async function* messagesOf({ body }: Response): AsyncGenerator<{ id: string | undefined; data: string }> {
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const messages = (text + chunk).split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) {
      const data = /^data: (.*)$/m.exec(message)?.[1];
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(message)?.[1], data };
    }
  }
}
