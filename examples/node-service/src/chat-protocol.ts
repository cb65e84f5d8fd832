import type { Protocol, ProtocolRequest, RunWriter } from '@eventloom/server';
import { InvalidRequestError } from 'eventloom';

const CHAT = '/chats/{appName}/{userId}/{sessionId}';

/** A protocol for plain text: takes a text, streams lines of text, and numbers each line so that a client can continue after it. */
export const chatProtocol: Protocol = {
  name: 'chat',
  routes: [
    {
      method: 'post',
      path: CHAT,
      operationId: 'say',
      summary: 'Sends a message to the agent and streams its answer',
      bodySchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      response: { contentType: 'text/event-stream' },
      errors: [409, 422, 502],
      handle: say,
    },
    {
      method: 'get',
      path: `${CHAT}/answers/{runId}`,
      operationId: 'readOn',
      summary: 'Streams an answer again, after the line in the query parameter after',
      query: { after: 'The id of the last received line.' },
      response: { contentType: 'text/event-stream' },
      noContent: 'The answer has ended, and there are no more lines',
      errors: [410, 429, 503],
      handle: (request) =>
        request
          .followRun({ ...ownerOf(request), invocationId: request.param('runId'), lastEventId: request.query('after') })
          .sse(lines()),
    },
  ],
};

async function say(request: ProtocolRequest): Promise<Response> {
  const body = await request.json();
  if (typeof body !== 'object' || body === null || !('text' in body) || typeof body.text !== 'string')
    throw new InvalidRequestError('text: expected a string');
  const run = await request.startRun({
    ...ownerOf(request),
    newMessage: { parts: [{ text: body.text }] },
    streaming: true,
  });
  return run.sse(lines());
}

const ownerOf = (request: ProtocolRequest) => ({
  appName: request.param('appName'),
  userId: request.param('userId'),
  sessionId: request.param('sessionId'),
});

/** Writes the text of a run: the chunks of a reply, or the whole reply if none of its chunks arrived. */
function lines(): RunWriter {
  const begun = new Set<string | undefined>();
  return {
    item({ id, event, error }) {
      if (event?.partial === true) begun.add(event.responseId);
      else if (event && begun.has(event.responseId)) return '';
      const text = error ? `(${error.code})` : event?.content?.parts?.map((part) => part.text ?? '').join('');
      return text ? `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(text)}\n\n` : '';
    },
    end: 'data: [DONE]\n\n',
  };
}
