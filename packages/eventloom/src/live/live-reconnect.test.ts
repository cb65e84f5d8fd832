import type { LiveWireMessage } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { FunctionTool } from '../index.ts';
import { startGemini, stopGemini } from './fixtures/fake-server.ts';
import { gemini, setup } from './fixtures/gemini-run.ts';
import { calls, CUT, END, handle, RESUMED, says, turn, user } from './fixtures/gemini-messages.ts';
import { readTurns, summarize } from './fixtures/summarized-turns.ts';

test.each<[string, object]>([
  ['says that it will go', { goAway: { timeLeft: '1s' } }],
  ['is cut (1006)', CUT],
  ['fails (1011)', { close: 1011, reason: 'Internal error encountered.' }],
])('when the service %s, the run continues with its handle, and queued text is not lost', async (_, end) => {
  const model = gemini(
    await startGemini(
      [{ heard: 'clientContent' }, handle('h1'), says('One'), END, end as LiveWireMessage],
      [{ heard: 'clientContent' }, says('Two'), END],
    ),
  );
  const { queue, stream, stored } = await setup({ model, runConfig: RESUMED });
  queue.sendContent(user('one'));
  let turns = 0;
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (++turns === 2) queue.close();
    else queue.sendContent(user('two'));
  }
  expect((await stored()).map(summarize)).toEqual([
    'user: one',
    'bot: One',
    'bot: end',
    'user: two',
    'bot: Two',
    'bot: end',
  ]);
  const [first, second] = await stopGemini();
  expect(first?.setup.sessionResumption).toEqual({});
  expect(second?.setup.sessionResumption).toEqual({ handle: 'h1' });
  // The message may have been sent on the first connection too, before its end was known: a message without an answer is sent again.
  expect(first?.received[0]).toEqual(turn(user('one')));
  expect(second?.received).toEqual([turn(user('two'))]);
});

test('a new connection without a handle gets the history, and then the result of a running call as text', async () => {
  for (const [model, said] of [
    ['gemini-2.5-flash-live', 'clientContent'],
    ['gemini-3.1-flash-live', 'realtimeInput'],
  ] as const) {
    const lost = Promise.withResolvers<void>();
    const slow = new FunctionTool({ name: 'slow', description: '', execute: () => lost.promise.then(() => 'done') });
    const live = gemini(
      await startGemini(
        [{ heard: said }, calls('slow', 'c1', { a: 1 }), says('One moment'), CUT],
        [{ heard: 'clientContent' }, says('Back.'), { heard: said }, says('Done.'), END],
      ),
      model,
    );
    const { queue, stream, stored } = await setup({ model: live, agent: { tools: [slow] } });
    queue.sendContent(user('go'));
    for await (const event of stream) {
      if (event.content?.parts?.[0]?.text === 'Back.') lost.resolve();
      if (event.turnComplete) queue.close();
    }
    expect((await stored()).map(summarize)).toEqual([
      'user: go',
      'bot: slow()',
      'bot: One moment (cut)',
      'bot: {"result":"done"}',
      'bot: Back.Done.',
      'bot: end',
    ]);
    const [, second] = await stopGemini();
    const words = 'Function slow, called earlier with {"a":1}, returned: {"result":"done"}';
    const functionResponse = { id: 'c1', name: 'slow', response: expect.objectContaining({ status: 'pending' }) };
    const earlier = [
      user('go'),
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'slow', args: { a: 1 } } }] },
      { role: 'user', parts: [{ functionResponse }] },
      { role: 'model', parts: [{ text: 'One moment' }] },
    ];
    expect(second?.received).toEqual(
      said === 'clientContent'
        ? [{ clientContent: { turns: earlier, turnComplete: false } }, turn(user(words))]
        : [turn(...earlier), { realtimeInput: { text: words } }],
    );
  }
});

test('a response whose connection was lost is sent on the next connection, which resumes the session of the call', async () => {
  const lost = Promise.withResolvers<void>();
  const slow = new FunctionTool({ name: 'slow', description: '', execute: () => lost.promise.then(() => 'done') });
  const model = gemini(
    await startGemini(
      [{ heard: 'clientContent' }, calls('slow', 'c1'), handle('h'), CUT],
      [says('Back'), { heard: 'toolResponse' }, END],
    ),
  );
  const { queue, stream } = await setup({ model, agent: { tools: [slow] }, runConfig: RESUMED });
  queue.sendContent(user('go'));
  for await (const event of stream) {
    if (event.partial) lost.resolve();
    if (event.turnComplete) queue.close();
  }
  const functionResponses = [{ id: 'c1', name: 'slow', response: { result: 'done' } }];
  expect((await stopGemini())[1]?.received).toEqual([{ toolResponse: { functionResponses } }]);
});

test('audio of a turn whose connection was lost is sent again, beginning at the handle', async () => {
  const model = gemini(
    await startGemini(
      [
        { heard: 'realtimeInput' },
        { heard: 'realtimeInput' },
        handle('h'),
        ...[1, 2].map(() => ({ heard: 'realtimeInput' })),
        CUT,
      ],
      [{ heard: 'realtimeInput' }, { heard: 'realtimeInput' }, says('Yes'), END],
    ),
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  const audio = (data: string) => ({ data, mimeType: 'audio/pcm' });
  queue.sendActivityStart();
  queue.sendRealtime(audio('AAAA'));
  for await (const event of stream) {
    if (event.liveSessionResumptionUpdate) {
      queue.sendRealtime(audio('BBBB'));
      queue.sendActivityEnd();
    }
    if (event.turnComplete) queue.close();
  }
  expect((await stopGemini())[1]?.received).toEqual([
    { realtimeInput: { audio: audio('BBBB') } },
    { realtimeInput: { activityEnd: {} } },
  ]);
});

test('requests that Vertex AI reports as not consumed are sent again', async () => {
  const model = gemini(
    await startGemini(
      [...[1, 2, 3].map(() => ({ heard: 'realtimeInput' })), handle('h1', '2'), CUT],
      [{ heard: 'realtimeInput' }, says('Two'), END],
    ),
    'gemini-2.5-flash-live',
    true,
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  const audio = (data: string) => ({ data, mimeType: 'audio/pcm' });
  queue.sendContent(user('hi'));
  for (const data of ['AAAA', 'BBBB', 'CCCC']) queue.sendRealtime(audio(data));
  await readTurns(stream, queue);
  const [first, second] = await stopGemini();
  expect(first?.setup.sessionResumption).toEqual({ transparent: true });
  expect(second?.setup.sessionResumption).toEqual({ transparent: true, handle: 'h1' });
  // Message 0 is the setup, 1 what was typed, 2 the first piece of audio.
  expect(second?.received).toEqual(['BBBB', 'CCCC'].map((data) => ({ realtimeInput: { audio: audio(data) } })));
});

test('a refused setup ends the run with an event and a LiveConnectionError', async () => {
  const model = gemini(await startGemini({ setup: { close: 1008, reason: 'models/x is not found' } }));
  const { queue, stream, stored } = await setup({ model });
  await expect(readTurns(stream, queue)).rejects.toMatchObject({
    code: 'LIVE_CONNECTION',
    closeCode: 1008,
    isRetryable: false,
  });
  expect((await stored()).map(summarize)).toEqual(['bot: LIVE_CONNECTION']);
  expect((await stored())[0]?.errorMessage).toContain('models/x is not found');
  expect(await stopGemini()).toHaveLength(1);
});

test('the run connects with the history if the service no longer knows the handle', async () => {
  const model = gemini(
    await startGemini(
      [{ heard: 'clientContent' }, handle('old'), says('One'), END, CUT],
      { setup: { close: 1008, reason: 'Session not found' } },
      [{ heard: 'clientContent' }, says('Two'), END],
    ),
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  queue.sendContent(user('one'));
  let turns = 0;
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (++turns === 2) queue.close();
    else queue.sendContent(user('two'));
  }
  const connections = await stopGemini();
  expect(connections.map(({ setup: { sessionResumption } }) => sessionResumption)).toEqual([{}, { handle: 'old' }, {}]);
});

test('a dead network is retried with growing delays, and then the run ends with an event and a typed error', async () => {
  const delays: number[] = [];
  const { queue, stream, stored } = await setup({ model: gemini('http://127.0.0.1:1'), delays });
  await expect(readTurns(stream, queue)).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  expect(delays).toEqual([250, 500, 1000, 2000]);
  expect((await stored()).map(summarize)).toEqual(['bot: LIVE_CONNECTION']);
});
