import { contentText, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { FunctionTool } from '@eventloom/tools';
import { call, END, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { summaryOf } from './fixtures/event-summary.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { IDS } from '../../runner/src/fixtures/scenario.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function audio(data: string) {
  return { content: { role: 'model', parts: [{ inlineData: { data, mimeType: 'audio/pcm;rate=24000' } }] } };
}

test('a text turn yields the typed message, the chunks, the merged text and the end of the turn', async () => {
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, 'Hel', 'lo', END]],
    runConfig: { responseModalities: ['TEXT'] },
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(summaryOf)).toEqual(['user: hi', 'bot~ Hel', 'bot~ lo', 'bot: Hello', 'bot: end']);
  expect((await stored()).map(summaryOf)).toEqual(['user: hi', 'bot: Hello', 'bot: end']);
  expect(new Set(events.map(({ invocationId }) => invocationId))).toEqual(new Set([stream.invocationId]));
  expect(new Set(events.slice(1, 4).map(({ responseId }) => responseId)).size).toBe(1);
  expect(model.connections[0]?.sent).toEqual([{ content: user('hi') }]);
  expect(model.connections[0]?.request.config.responseModalities).toEqual(['TEXT']);
  expect(model.connections[0]?.isClosed).toBe(true);
  model.assertConsumed();
});

/** Makes a response with a text of the model. */
function text(words: string, partial?: boolean) {
  return { content: { role: 'model', parts: [{ text: words }] }, ...(partial === undefined ? {} : { partial }) };
}

test.each([
  ['without partial', text('Hello')],
  ['with partial: false', text('Hello', false)],
])('a whole text %s after pieces with partial: true is yielded and stored once', async (_, whole) => {
  const { queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, text('Hel', true), text('lo', true), whole, text('Bye', true), END]],
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(summaryOf)).toEqual([
    'user: hi',
    'bot~ Hel',
    'bot~ lo',
    'bot: Hello',
    'bot~ Bye',
    'bot: Bye',
    'bot: end',
  ]);
  expect((await stored()).map(summaryOf)).toEqual(['user: hi', 'bot: Hello', 'bot: Bye', 'bot: end']);
  const [first, second, third, next] = events.slice(1).map(({ responseId }) => responseId);
  expect([second, third]).toEqual([first, first]);
  expect(next).not.toBe(first);
});

test.each([
  ['its last piece', [{ ...text('lo', true), interrupted: true }]],
  ['a response of its own', [text('lo', true), { interrupted: true }]],
])(
  'pieces with partial: true that %s interrupts are stored at once, and not again with their whole',
  async (_, end) => {
    const { queue, stream, stored } = await liveScenario({
      model: [[{ heard: 'content' }, text('Hel', true), ...end, text('Hello', false), text('Hello', false), END]],
    });
    queue.sendContent(user('hi'));
    await readTurns(stream, queue);
    expect((await stored()).map(summaryOf)).toEqual([
      'user: hi',
      'bot: Hello interrupted',
      'bot: interrupted',
      'bot: Hello',
      'bot: end',
    ]);
  },
);

test.each([
  ['a whole', 'Next', [text('Next', false), END]],
  ['pieces', 'Next', [text('Ne', true), text('xt', true), END]],
  ['the same words in pieces', 'Hello', [text('Hel', true), text('lo', true), text('Hello', false), END]],
])(
  'an interrupted text is stored before the next message of the user, whose answer is %s',
  async (_, words, answer) => {
    const interrupted = { ...text('lo', true), interrupted: true };
    const { queue, stream, stored } = await liveScenario({
      model: [[{ heard: 'content' }, text('Hel', true), interrupted, { heard: 'content' }, ...answer]],
    });
    queue.sendContent(user('hi'));
    for await (const event of stream) {
      if (event.turnComplete) queue.close();
      else if (event.interrupted && !event.content) queue.sendContent(user('again'));
    }
    expect((await stored()).map(summaryOf)).toEqual([
      'user: hi',
      'bot: Hello interrupted',
      'bot: interrupted',
      'user: again',
      `bot: ${words}`,
      'bot: end',
    ]);
  },
);

test('a text before a call in the same response is stored once if its whole follows', async () => {
  const both = {
    content: { role: 'model', parts: [{ text: 'Looking' }, ...(call('look', 'call-1').content?.parts ?? [])] },
    partial: true,
  };
  const { queue, stream, stored } = await liveScenario({
    agent: { tools: [new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })] },
    model: [[{ heard: 'content' }, both, text('Looking', false), { heard: 'toolResponses' }, END]],
  });
  queue.sendContent(user('hi'));
  await readTurns(stream, queue);
  const texts = (await stored()).flatMap(({ content }) => content?.parts?.map((part) => part.text ?? '') ?? []);
  expect(texts.filter((words) => words !== '')).toEqual(['hi', 'Looking']);
});

test('a whole transcription after pieces with partial: true is yielded and stored once, also after a call', async () => {
  const { queue, stream, stored } = await liveScenario({
    agent: { tools: [new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })] },
    model: [
      [
        { heard: 'blob' },
        { inputTranscription: { text: 'Good ', finished: false }, partial: true },
        { outputTranscription: { text: 'And ', finished: false }, partial: true },
        call('look', 'call-1'),
        { heard: 'toolResponses' },
        { outputTranscription: { text: 'you', finished: false }, partial: true },
        { inputTranscription: { text: 'Good day', finished: true }, partial: false },
        { outputTranscription: { text: 'And you', finished: true } },
        END,
      ],
    ],
  });
  queue.sendRealtime({ data: 'CCCC', mimeType: 'audio/pcm;rate=16000' });
  await readTurns(stream, queue);
  const spoken = (await stored()).map(summaryOf).filter((summary) => /hears|speaks|end/.test(summary));
  expect(spoken).toEqual(['user: hears Good day', 'bot: speaks And you', 'bot: end']);
});

test('an audio turn streams audio and transcription chunks, and stores both transcriptions', async () => {
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'blob' },
        { inputTranscription: { text: 'Good ' } },
        { inputTranscription: { text: 'day' } },
        { ...audio('AAAA'), outputTranscription: { text: 'And ' } },
        { ...audio('BBBB'), outputTranscription: { text: 'you' } },
        { generationComplete: true },
        { usageMetadata: { totalTokenCount: 3 } },
        END,
      ],
    ],
  });
  queue.sendRealtime({ data: 'CCCC', mimeType: 'audio/pcm;rate=16000' });
  const events = await readTurns(stream, queue);
  expect(events.map(summaryOf)).toEqual([
    'user~ hears Good ',
    'user~ hears day',
    'bot: <AAAA>',
    'bot~ speaks And ',
    'bot: <BBBB>',
    'bot~ speaks you',
    'user: hears Good day',
    'bot: usage',
    'bot: speaks And you',
    'bot: end',
  ]);
  expect((await stored()).map(summaryOf)).toEqual([
    'user: hears Good day',
    'bot: usage',
    'bot: speaks And you',
    'bot: end',
  ]);
  expect(model.connections[0]?.request.config.responseModalities).toEqual(['AUDIO']);
});

test.each(['groundingMetadata', 'urlContextMetadata', 'citationMetadata'])(
  'the %s of a reply is yielded and stored',
  async (field) => {
    const metadata = { [field]: { from: ['https://example.com/'] } };
    const { queue, stream, stored } = await liveScenario({ model: [[{ heard: 'content' }, metadata, END]] });
    queue.sendContent(user('look it up'));
    const events = await readTurns(stream, queue);
    for (const list of [events, await stored()]) expect(list).toContainEqual(expect.objectContaining(metadata));
  },
);

test('a text that the user interrupted is stored up to the interruption and marked', async () => {
  const { queue, stream, stored } = await liveScenario({
    model: [
      [{ heard: 'content' }, 'One, two', { interrupted: true }, 'Yes?', { interrupted: true, turnComplete: true }],
    ],
  });
  queue.sendContent(user('count'));
  await readTurns(stream, queue);
  expect((await stored()).map(summaryOf)).toEqual([
    'user: count',
    'bot: One, two interrupted',
    'bot: interrupted',
    'bot: Yes? interrupted',
    'bot: interrupted end',
  ]);
});

test('closing the queue sends the queued requests, stores the open transcription, and ends the run', async () => {
  const { model, queue, stream, stored } = await liveScenario({ model: [[{ heard: 'content' }, 'Half of']] });
  queue.sendContent(user('hi'));
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.partial) queue.close();
  }
  expect(events.map(summaryOf)).toEqual(['user: hi', 'bot~ Half of', 'bot: Half of']);
  expect((await stored()).map(summaryOf)).toEqual(['user: hi', 'bot: Half of']);
  expect(model.connections[0]?.isClosed).toBe(true);
});

test('an error of the model becomes an event, and the run continues', async () => {
  const { queue, stream } = await liveScenario({
    model: [[{ heard: 'content' }, { errorCode: 'UNAVAILABLE', errorMessage: 'busy' }, 'Here', END]],
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(summaryOf)).toEqual(['user: hi', 'bot: UNAVAILABLE', 'bot~ Here', 'bot: Here', 'bot: end']);
});

test('runLive throws for a queue that served another run, and for a resumable run config', async () => {
  const { runner, queue, stream } = await liveScenario({ model: [[]] });
  queue.close();
  await readTurns(stream, queue);
  await expect(runner.runLive({ ...IDS, liveRequestQueue: queue }).next()).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  const runConfig = { resumable: true };
  await expect(
    runner.runLive({ ...IDS, liveRequestQueue: new LiveRequestQueue(), runConfig }).next(),
  ).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('the events of a text have the other fields of its responses, and none of a later response', async () => {
  const [first, second] = [{ modelVersion: 'v1', customMetadata: { shard: 3 } }, { modelVersion: 'v2' }];
  const last = { modelVersion: 'v3', avgLogprobs: -1 };
  const { queue, stream, stored } = await liveScenario({
    model: [
      [{ heard: 'content' }, { ...text('Hello'), ...first }, { ...text(' you'), ...second }, { ...END, ...last }],
    ],
  });
  queue.sendContent(user('hi'));
  const fields = ({ content, modelVersion, avgLogprobs, customMetadata }: Event): unknown => [
    contentText(content),
    { modelVersion, avgLogprobs, customMetadata },
  ];
  const wholeAndEnd = [
    ['Hello you', { ...first, ...second }],
    ['', last],
  ];
  const events = await readTurns(stream, queue);
  expect(events.slice(1).map(fields)).toEqual([['Hello', first], [' you', second], ...wholeAndEnd]);
  expect((await stored()).slice(1).map(fields)).toEqual(wholeAndEnd);
});

test('a whole text that follows its pieces has their other fields and its own', async () => {
  const { queue, stream } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        { ...text('Hel'), partial: true, modelVersion: 'v1' },
        { ...text('Hello'), partial: false, avgLogprobs: -1 },
        END,
        { ...text('Bye'), partial: false },
        END,
      ],
    ],
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue, 2);
  const wholes = events.filter(({ content, partial, author }) => content && !partial && author !== 'user');
  expect(wholes).toMatchObject([
    { content: { parts: [{ text: 'Hello' }] }, modelVersion: 'v1', avgLogprobs: -1 },
    { content: { parts: [{ text: 'Bye' }] } },
  ]);
  expect(Object.keys(wholes[1] ?? {})).not.toContain('modelVersion');
});
