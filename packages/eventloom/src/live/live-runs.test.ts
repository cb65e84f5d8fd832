import { expect, test } from 'vitest';
import { FunctionTool, LlmAgent } from '../index.ts';
import { startGemini, stopGemini } from './fixtures/fake-server.ts';
import { gemini, setup } from './fixtures/gemini-run.ts';
import { calls, END, says, turn, user } from './fixtures/gemini-messages.ts';
import { readTurns, summarize } from './fixtures/summarized-turns.ts';

test('a turn yields chunks, the whole reply, token counts and an end, and the connection is closed normally', async () => {
  const usageMetadata = { promptTokenCount: 1, responseTokenCount: 2, totalTokenCount: 3 };
  const model = gemini(
    await startGemini([
      { heard: 'clientContent' },
      { serverContent: {} },
      says('Hel'),
      says('lo'),
      { serverContent: { generationComplete: true } },
      { ...END, usageMetadata },
    ]),
  );
  const { queue, stream, stored } = await setup({ model, runConfig: { responseModalities: ['TEXT'] } });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(summarize)).toEqual(['user: hi', '~bot: Hel', '~bot: lo', 'bot: Hello', 'bot: usage', 'bot: end']);
  expect((await stored()).map(summarize)).toEqual(['user: hi', 'bot: Hello', 'bot: usage', 'bot: end']);
  const [connection] = await stopGemini();
  expect(connection).toMatchObject({
    setup: { model: 'models/gemini-2.5-flash-live', generationConfig: { responseModalities: ['TEXT'] } },
    received: [turn(user('hi'))],
  });
  expect([1000, 1005]).toContain(connection?.closed.code);
});

test('calls run during the conversation, a cancelled one gets no response, and the user interrupts', async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = new FunctionTool({
    name: 'endless',
    description: '',
    execute: (_, { abortSignal }) =>
      new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => {
          stopped.resolve();
          reject(new Error('stopped'));
        });
      }),
  });
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => ({ sky: 'grey' }) });
  const model = gemini(
    await startGemini([
      { heard: 'clientContent' },
      calls('endless', 'c1'),
      says('Let me'),
      { serverContent: { interrupted: true } },
      { toolCallCancellation: { ids: ['c1'] } },
      calls('quick', 'c2'),
      { heard: 'toolResponse' },
      says('Grey.'),
      END,
    ]),
  );
  const { queue, stream, stored } = await setup({ model, agent: { tools: [endless, quick] } });
  queue.sendContent(user('look'));
  await readTurns(stream, queue);
  await stopped.promise;
  // The call that the model took back has a response as well, which the model does not get. It is stored when the tool has stopped, which
  // may be before or after the next call.
  const cancelled =
    'bot: {"error":"cancelled","message":"The model took the call back. It may have had its effect or not."}';
  const lines = (await stored()).map(summarize);
  expect(lines.filter((line) => line !== cancelled)).toEqual([
    'user: look',
    'bot: endless()',
    'bot: Let me (cut)',
    'bot:  (cut)',
    'bot: quick()',
    'bot: {"sky":"grey"}',
    'bot: Grey.',
    'bot: end',
  ]);
  expect(lines.filter((line) => line === cancelled)).toHaveLength(1);
  const functionResponses = [{ id: 'c2', name: 'quick', response: { sky: 'grey' } }];
  expect((await stopGemini())[0]?.received.slice(1)).toEqual([{ toolResponse: { functionResponses } }]);
});

test('a transfer opens a connection for the other agent and sends it the history', async () => {
  const baseUrl = await startGemini(
    [{ heard: 'clientContent' }, says('Hello.'), calls('transfer_to_agent', 't', { agent_name: 'child' })],
    [{ heard: 'clientContent' }, { heard: 'realtimeInput' }, says('Child here.'), END],
  );
  const child = new LlmAgent({ name: 'child', model: gemini(baseUrl) });
  const root = new LlmAgent({ name: 'root', model: gemini(baseUrl), subAgents: [child] });
  const { queue, stream, stored } = await setup({ root });
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    // This audio is sent during the hand-over, and is for the child.
    if (event.content?.parts?.[0]?.functionCall) queue.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm' });
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(({ author }) => author)).toEqual(['user', 'root', 'root', 'root', 'child', 'child']);
  const [first, second] = await stopGemini();
  expect(first?.received).toHaveLength(1);
  expect(JSON.stringify(second?.received[0])).toContain('[root] said: Hello.');
  expect(second?.received[1]).toEqual({ realtimeInput: { audio: { data: 'AAAA', mimeType: 'audio/pcm' } } });
  expect(second?.setup).toMatchObject({ inputAudioTranscription: {}, outputAudioTranscription: {} });
});

test.each([
  [false, [{ output: 1 }, true], [{ results: [1] }, false]],
  [true, [{ output: 1 }, undefined], [{ results: [1] }, undefined]],
] as const)(
  'a non-blocking tool is declared NON_BLOCKING and sends its chunks (Vertex AI: %s)',
  async (vertexai, chunk, whole) => {
    const count = new FunctionTool({
      name: 'count',
      description: '',
      responseScheduling: 'SILENT',
      execute: async function* () {
        yield 1;
      },
    });
    const steps = [
      { heard: 'clientContent' },
      calls('count', 'c1'),
      says('Counting'),
      { heard: vertexai ? 'clientContent' : 'toolResponse' },
      { heard: 'toolResponse' },
      END,
    ];
    const model = gemini(await startGemini(steps), 'gemini-2.5-flash-live', vertexai);
    const { queue, stream } = await setup({ model, agent: { tools: [count] } });
    queue.sendContent(user('count'));
    await readTurns(stream, queue);
    const [connection] = await stopGemini();
    expect(JSON.stringify(connection?.setup.tools)).toContain('"behavior":"NON_BLOCKING"');
    const response = ([output, willContinue]: readonly [object, boolean | undefined]) => {
      const functionResponse = { id: 'c1', name: 'count', response: output, scheduling: 'SILENT' };
      return {
        toolResponse: {
          functionResponses: [willContinue === undefined ? functionResponse : { ...functionResponse, willContinue }],
        },
      };
    };
    const result = vertexai ? turn(user('Function count returned: 1')) : response(chunk);
    expect(connection?.received.slice(1)).toEqual([result, response(whole)]);
  },
);

test.each([
  [
    { serverContent: { turnComplete: true, turnCompleteReason: 'PROHIBITED_INPUT_CONTENT' } },
    'PROHIBITED_INPUT_CONTENT',
  ],
  [{ error: { code: 503, status: 'UNAVAILABLE', message: 'busy' } }, 'UNAVAILABLE'],
  [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'enough' } }, 'RESOURCE_EXHAUSTED'],
])('the error %j becomes an event, and the run continues', async (error, errorCode) => {
  const model = gemini(
    await startGemini([{ heard: 'clientContent' }, error, { heard: 'clientContent' }, says('Yes'), END]),
  );
  const { queue, stream, stored } = await setup({ model });
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    if (event.errorCode !== undefined) queue.sendContent(user('again'));
    if (event.turnComplete && (await stored()).some((each) => summarize(each) === 'bot: Yes')) queue.close();
  }
  expect((await stored()).map(summarize).filter((each) => each !== 'bot: end')).toEqual([
    'user: hi',
    `bot: ${errorCode}`,
    'user: again',
    'bot: Yes',
  ]);
});
