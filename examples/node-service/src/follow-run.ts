import { setTimeout } from 'node:timers/promises';
import { type Event, parseEvent } from 'eventloom';

/** The body of a request to `/run_sse`. */
export interface RunBody {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage: { readonly parts: readonly { readonly text: string }[] };
  readonly streaming?: boolean;
}

/** The server refused the request, or the run failed; the message is what the server said. */
export class RunFailedError extends Error {}

/** Says something to an agent and yields the events of its run, each once, however often the connection is lost. */
export async function* followRun(url: string, headers: Record<string, string>, body: RunBody): AsyncGenerator<Event> {
  const { appName, userId, sessionId } = body;
  // Not tried again: the run may have begun.
  let response: Response | undefined = await fetch(`${url}/run_sse`, {
    method: 'POST',
    // Without the header the frames have no ids.
    headers: { ...headers, 'eventloom-event-ids': '1' },
    body: JSON.stringify(body),
  });
  const runId = response.headers.get('eventloom-invocation-id');
  const run = `${url}/apps/${appName}/users/${userId}/sessions/${sessionId}/runs/${runId}`;
  let lastEventId = '0';
  for (let lost = 0; ;) {
    try {
      response ??= await fetch(run, { headers: { ...headers, 'last-event-id': lastEventId } });
      // The run is over, and there is no more.
      if (response.status === 204) return;
      if (!response.ok) throw new RunFailedError(await response.text());
      for await (const { id, data } of messagesOf(response)) {
        lastEventId = id ?? lastEventId;
        // The run continues in another process, or when the lease of its session has run out.
        if (isFailure(data) && data.includes('"RUN_GOES_ON"')) throw new TypeError('the run goes on elsewhere');
        if (isFailure(data)) throw new RunFailedError(data);
        lost = 0;
        yield parseEvent(data);
      }
    } catch (error) {
      if (error instanceof RunFailedError || ++lost > 8) throw error;
      await setTimeout(1000 * lost);
    }
    response = undefined;
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
