import { createEvent, type Event, InMemoryRunner, node, type NodeContext, StreamingMode, Workflow } from '@google/adk';
import { createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

function say(text: string, partial?: boolean): Event {
  return createEvent({ content: { role: 'model', parts: [{ text }] }, ...(partial && { partial }) });
}

const plain = node(
  function* () {
    yield say('A message.');
  },
  { name: 'plain' },
);
const picture = node(
  function* () {
    const inlineData = { data: 'iVBORw0KGgo=', mimeType: 'image/png' };
    yield createEvent({ content: { role: 'model', parts: [{ text: 'A picture:' }, { inlineData }] } });
  },
  { name: 'picture' },
);
const sentence = node(
  async function* () {
    yield say('Beginning.');
    for (const text of ['One ', 'two ', 'three.']) yield say(text, true);
    yield say('One two three.');
  },
  { name: 'sentence' },
);
const both = node(
  (_context: NodeContext, name: unknown) =>
    createEvent({
      content: { role: 'model', parts: [{ text: 'With an output too.' }] },
      output: { greeted: name ?? 'nobody' },
    }),
  { name: 'both' },
);

const rootAgent = new Workflow({ name: 'messages', edges: [['START', plain, picture, sentence, both]] });

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'talk' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
    for (const streamingMode of [StreamingMode.SSE, StreamingMode.NONE]) {
      const params = { userId: 'ann', sessionId, newMessage: createUserContent('go'), runConfig: { streamingMode } };
      for await (const event of runner.runAsync(params)) tell(event);
    }
    const session = await runner.sessionService.getSession({ appName: 'talk', userId: 'ann', sessionId });
    tell({ storedChunks: session?.events.filter(({ partial }) => partial === true).length });
  },
};
export default program;
