/** The line ends of the events that were seen of the service and of proxies. */
const END_OF_EVENT = /\r\n\r\n|\n\n|\r\r/;

/**
 * The JSON of each event of a stream, in order. A body that is JSON itself and no stream, as errors are that come with
 * status 200, is its only one.
 * @throws TypeError for a stream that ends within an event, and what reading throws
 */
export async function* readServerSentJson(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split(END_OF_EVENT);
    rest = events.pop() ?? '';
    for (const event of events) {
      const text = event.trim();
      if (text.startsWith('data:')) yield text.slice('data:'.length);
    }
  }
  rest = rest.trim();
  if (rest.startsWith('{')) yield rest;
  else if (rest !== '') throw new TypeError('Incomplete JSON segment at the end');
}
