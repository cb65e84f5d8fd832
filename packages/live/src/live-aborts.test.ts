import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { summaryOf } from './fixtures/event-summary.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

test('an abort ends the run with RunAbortedError, and its connection', async () => {
  const { model, abort, stream } = await liveScenario({ model: [[new Gate()]] });
  const reading = readTurns(stream, new LiveRequestQueue());
  const connection = await model.connection(0);
  abort.abort();
  await expect(reading).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await connection.ended;
});

test('a reader that stops reading ends the run and its connection', async () => {
  const { model, queue, stream } = await liveScenario({ model: [[{ heard: 'content' }, 'a', 'b']] });
  queue.sendContent(user('hi'));
  for await (const event of stream) if (event.partial) break;
  await model.connections[0]?.ended;
});

test('an abort ends the run while it connects, and while a tool that ignores the abort runs', async () => {
  const gate = new Gate();
  const connecting = await liveScenario({ model: [{ gate }] });
  const first = readTurns(connecting.stream, connecting.queue);
  await gate.reached;
  connecting.abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'RUN_ABORTED' });

  const reached = new Gate();
  const deaf = new FunctionTool({ name: 'deaf', description: '', execute: () => reached.pass() });
  const calling = await liveScenario({ model: [[{ heard: 'content' }, call('deaf', 'c1')]], agent: { tools: [deaf] } });
  calling.queue.sendContent(user('go'));
  const second = readTurns(calling.stream, calling.queue);
  await reached.reached;
  calling.abort.abort();
  await expect(second).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  expect((await calling.stored()).map(summaryOf)).toEqual([
    'user: go',
    'bot: deaf()',
    expect.stringContaining('bot: deaf={"error":"interrupted"'),
    'bot: RUN_ABORTED',
  ]);
});
