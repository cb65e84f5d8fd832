/** A run that a page starts and follows. */
export interface ChatRequest {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly text: string;
  /** Called with the text of the reply so far, whenever more text arrives. */
  readonly onText: (text: string) => void;
  /** Called with the name of each tool that the agent calls. */
  readonly onToolCall: (name: string) => void;
}

interface ChatEvent {
  readonly author: string;
  readonly partial?: boolean;
  readonly errorMessage?: string;
  readonly content?: {
    readonly parts?: readonly { text?: string; thought?: boolean; functionCall?: { name: string } }[];
  };
}

/**
 * Sends a text to an agent and reports the reply as it arrives. Repeats the request when the connection is lost: the `requestId` identifies
 * the run, and `Last-Event-ID` continues the stream after the last frame that arrived.
 * @throws Error with the server's message, or when the connection was lost five times in a row
 */
export async function chat({ text, onText, onToolCall, ...session }: ChatRequest): Promise<void> {
  const body = JSON.stringify({
    ...session,
    newMessage: { role: 'user', parts: [{ text }] },
    streaming: true,
    requestId: crypto.randomUUID(),
  });
  const { appName, userId, sessionId } = session;
  const runs = `/apps/${appName}/users/${userId}/sessions/${sessionId}/runs`;
  let runId: string | null = null;
  let lastEventId = '0';
  let reply = '';
  for (let lost = 0; ;) {
    let waitMs = 0;
    try {
      const response: Response =
        runId === null
          ? await fetch('/run_sse', { method: 'POST', headers: { 'eventloom-event-ids': '1' }, body })
          : await fetch(`${runs}/${runId}`, { headers: { 'last-event-id': lastEventId } });
      if (response.status === 204) return;
      if (!response.ok) throw new ChatError(await errorOf(response));
      runId ??= response.headers.get('eventloom-invocation-id');
      for await (const { id, data } of framesOf(response)) {
        lastEventId = id ?? lastEventId;
        const frame: unknown = JSON.parse(data);
        if (isFailure(frame) && frame.code !== 'RUN_GOES_ON') throw new ChatError(frame.error);
        lost = 0;
        if (isFailure(frame)) {
          // The run continues in another process, at the latest when the lease of the first one has expired: follow it again.
          waitMs = 2000;
          break;
        }
        const event = frame as ChatEvent;
        if (event.errorMessage !== undefined) throw new ChatError(event.errorMessage);
        const parts = event.content?.parts ?? [];
        const said = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
        if (event.partial) onText((reply += said));
        else {
          for (const { functionCall } of parts) if (functionCall) onToolCall(functionCall.name);
          // The whole reply replaces its chunks.
          if (said !== '') onText(said);
          reply = '';
        }
      }
    } catch (error) {
      if (error instanceof ChatError || ++lost === 5) throw error;
      waitMs = 500 * lost;
    }
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

class ChatError extends Error {}

function isFailure(frame: unknown): frame is { error: string; code?: string } {
  return typeof frame === 'object' && frame !== null && 'error' in frame && typeof frame.error === 'string';
}

async function errorOf(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => null);
  return isFailure(answer) ? answer.error : `${response.status} ${response.statusText}`;
}

/** Yields the frames of a stream of server-sent events. */
async function* framesOf({ body }: Response): AsyncGenerator<{ id: string | undefined; data: string }> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; reader;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (text + value).split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(frame)?.[1], data };
    }
  }
}
