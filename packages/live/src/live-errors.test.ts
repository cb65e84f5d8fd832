import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type Event, InvalidMessageError } from '@eventloom/core';
import { fixedPlatform, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import { errorAdvice } from './error-advice.ts';
import { END, user } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function setup(script: ScriptedLiveScript, runConfig = {}) {
  const artifactService = new InMemoryArtifactService({ platform: fixedPlatform() });
  return liveScenario({ model: [script], artifactService, runConfig });
}

function summarize({ content, errorCode, turnComplete }: Event): string {
  return errorCode ?? content?.parts?.[0]?.text ?? (turnComplete ? 'end' : '');
}

test.each([
  ['SAFETY', 'stop'],
  ['PROHIBITED_CONTENT', 'stop'],
  ['BLOCKLIST', 'stop'],
  ['MAX_TOKENS', 'stop'],
  ['CANCELLED', 'stop'],
  ['RESOURCE_EXHAUSTED', 'retry'],
  ['UNAVAILABLE', 'continue'],
  ['DEADLINE_EXCEEDED', 'continue'],
  ['UNKNOWN', 'continue'],
  ['SOMETHING_NEW', 'continue'],
])(
  'after %s in the middle of a turn the run continues, and the event advises the reader to %s',
  async (errorCode, action) => {
    const { queue, stream, stored } = await setup([
      { heard: 'content' },
      'So far',
      { errorCode, errorMessage: 'the reason', turnComplete: true },
      { heard: /again/ },
      'Here',
      END,
    ]);
    queue.sendContent(user('hi'));
    const advice: string[] = [];
    for await (const event of stream) {
      if (event.errorCode !== undefined) {
        advice.push(errorAdvice(event.errorCode).action);
        expect(event).toMatchObject({ author: 'bot', errorMessage: 'the reason' });
        queue.sendContent(user('again'));
      }
      if (summarize(event) === 'Here' && !event.partial) queue.close();
    }
    expect(advice).toEqual([action]);
    expect((await stored()).map(summarize).slice(0, 6)).toEqual(['hi', 'So far', errorCode, 'end', 'again', 'Here']);
  },
);

test('audio that is not base64 is not saved but reported in an error event, and the run continues', async () => {
  const { model, queue, stream, stored } = await setup([{ heard: 'activityEnd' }, 'Yes', END], { saveLiveBlob: true });
  queue.sendRealtime({ data: '*', mimeType: 'audio/pcm' });
  queue.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm' });
  queue.sendActivityEnd();
  const errorCodes: unknown[] = [];
  for await (const event of stream) {
    if (event.errorCode !== undefined) errorCodes.push(event.errorCode);
    if (event.turnComplete) queue.close();
  }
  expect(errorCodes).toEqual(['INVALID_REQUEST']);
  expect((await stored()).map(summarize)).toEqual(['Yes', '', 'end']);
  expect(model.connections[0]?.sent).toEqual([
    { blob: { data: 'AAAA', mimeType: 'audio/pcm' } },
    { activityEnd: true },
  ]);
});

test('a request that the connection cannot send is left out with an error event, and the run continues', async () => {
  const { model, queue, stream, stored } = await setup([{ heard: /hi/ }, 'Yes', END]);
  const connect = model.connect.bind(model);
  vi.spyOn(model, 'connect').mockImplementation(async (...given) => {
    const connection = await connect(...given);
    const send = connection.sendContent.bind(connection);
    connection.sendContent = (content) =>
      content.parts?.[0]?.fileData ? Promise.reject(new InvalidMessageError('no files')) : send(content);
    return connection;
  });
  queue.sendContent({ role: 'user', parts: [{ fileData: { fileUri: 'gs://a/b', mimeType: 'text/plain' } }] });
  queue.sendContent(user('hi'));
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await stored()).map(summarize)).toEqual(['', 'INVALID_MESSAGE', 'hi', 'Yes', 'end']);
});

test('a finish reason other than STOP is an error event, as in runs that are not live', async () => {
  const script = [
    { content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'SAFETY' },
    { turnComplete: true, finishReason: 'MAX_TOKENS' },
  ];
  const { queue, stream, stored } = await setup(script);
  for await (const event of stream) if (event.turnComplete) queue.close();
  const failed = (code: string) => ({
    object: 'error',
    finishReason: code,
    errorCode: code,
    errorMessage: `the model stopped with ${code}`,
  });
  const events = await stored();
  expect(events.filter(({ errorCode }) => errorCode)).toMatchObject([failed('SAFETY'), failed('MAX_TOKENS')]);
  expect(events.at(-1)).toMatchObject({ turnComplete: true });
});

test('the event that ends a turn has its finish reason', async () => {
  const { queue, stream, stored } = await setup([{ turnComplete: true, finishReason: 'STOP' }]);
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(await stored()).toMatchObject([{ turnComplete: true, finishReason: 'STOP' }]);
});
