import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, handle, RESUMED, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { reconnecting, textOf } from './fixtures/reconnecting.ts';

test('a response is sent on the next connection if its connection was lost after the call', async () => {
  const gate = new Gate();
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async () => {
      await gate.pass();
      return { done: true };
    },
  });
  const { model, queue, stream } = await reconnecting(
    [
      [
        { heard: 'content' },
        handle('h'),
        { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'slow', args: {} } }] } },
        { ends: 1006 },
      ],
      [{ heard: 'toolResponses' }, 'Done', END],
    ],
    RESUMED,
    { tools: [slow] },
  );
  queue.sendContent(user('go'));
  const reading = readTurns(stream, queue);
  await model.connection(1);
  gate.open();
  await reading;
  expect(model.connections[1]?.sent).toEqual([
    { toolResponses: [{ id: 'c1', name: 'slow', response: { done: true } }] },
  ]);
});

test('requests that are sent without a connection are kept in order', async () => {
  const gate = new Gate();
  const { model, queue, stream } = await reconnecting(
    [
      [{ heard: 'content' }, handle('h'), 'One', END, { ends: 1006 }],
      { gate, steps: [{ heard: 'activityEnd' }, 'Two', END] },
    ],
    RESUMED,
  );
  queue.sendContent(user('one'));
  const reading = readTurns(stream, queue, 2);
  await gate.reached;
  queue.sendActivityStart();
  for (const data of ['AA==', 'BB==', 'CC==']) queue.sendRealtime({ data, mimeType: 'audio/pcm' });
  queue.sendActivityEnd();
  gate.open();
  await reading;
  expect(model.connections[1]?.sent.map((sent) => ('blob' in sent ? sent.blob.data : Object.keys(sent)[0]))).toEqual([
    'activityStart',
    'AA==',
    'BB==',
    'CC==',
    'activityEnd',
  ]);
});

test.each([
  ['with a handle it is sent to the next one', RESUMED, [{ content: user('hi') }]],
  ['without one it is sent with the history only', {}, [{ history: [user('hi')] }]],
])('a message whose connection was lost before the send is stored once: %s', async (_, runConfig, expected) => {
  const gate = new Gate();
  const { model, queue, stream, stored } = await reconnecting(
    [
      ['sessionResumption' in runConfig ? handle('h') : {}, gate, { ends: 1006 }],
      [{ heard: /hi/ }, 'Hello', END],
    ],
    runConfig,
  );
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    if (event.author === 'user') {
      gate.open();
      await (
        await model.connection(0)
      ).ended;
    }
    if (event.turnComplete) queue.close();
  }
  expect(model.connections.map(({ sent }) => sent)).toEqual([[], expected]);
  expect((await stored()).map(textOf)).toEqual(['hi', 'Hello', 'end']);
});
