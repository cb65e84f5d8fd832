import { jsonTextResponse } from './json-response.ts';

/** A text of more characters is streamed. */
const MAX_TEXT = 1024 * 1024;
type Headers = Readonly<Record<string, string>>;

/** An answer with JSON text: in one piece, or streamed part by part when it is long. */
export function partsResponse(parts: Generator<string, void, undefined>, headers?: Headers): Response {
  let text = '';
  for (let next = parts.next(); next.done !== true; next = parts.next()) {
    if (text.length + next.value.length > MAX_TEXT)
      return streamedResponse(begunParts([text, next.value], parts), headers);
    text += next.value;
  }
  return jsonTextResponse(text, headers);
}

/** An answer with JSON text whose parts are made as the client takes them. */
export function streamedResponse(
  parts: Generator<string, void, undefined> | AsyncGenerator<string, void, undefined>,
  headers?: Headers,
): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      // A generator that fails to close rejects the cancellation, which the runtime awaits; ignored it would be an unhandled rejection.
      cancel: async () => void (await parts.return()),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
}

function* begunParts(begun: string[], rest: Iterable<string>): Generator<string, void, undefined> {
  for (let part = begun.shift(); part !== undefined; part = begun.shift()) yield part;
  yield* rest;
}
