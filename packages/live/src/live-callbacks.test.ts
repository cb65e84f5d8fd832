import {
  BasePlugin,
  type CallbackContext,
  type Content,
  type Event,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function summarize({ author, content, turnComplete, errorCode, outputTranscription }: Event): string {
  const [part] = content?.parts ?? [];
  const said = errorCode ?? part?.text ?? outputTranscription?.text ?? JSON.stringify(part?.functionResponse?.response);
  return `${author}: ${turnComplete ? 'end' : (said ?? '')}`;
}

test('plugins may change a client message before it is stored and sent', async () => {
  const asked: unknown[] = [];
  class Rewriter extends BasePlugin {
    override onUserMessageCallback({ userMessage }: { userMessage: Content }): Content | undefined {
      const [part] = userMessage.parts ?? [];
      asked.push(part?.text ?? part?.functionResponse?.response);
      if (part?.text === 'secret') return user('[removed]');
      if (!part?.functionResponse) return undefined;
      const functionResponse = { ...part.functionResponse, response: { state: 'checked' } };
      return { role: 'user', parts: [{ functionResponse }] };
    }
  }
  const order = new LongRunningFunctionTool({ name: 'order', description: '', execute: () => undefined });
  const called = { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'order', args: {} } }] } };
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, called, { heard: 'toolResponses' }, { heard: /hi/ }, END]],
    agent: { tools: [order] },
    plugins: [new Rewriter('rewriter')],
  });
  queue.sendContent(user('secret'));
  queue.sendRealtime({ data: 'AA==', mimeType: 'audio/pcm' });
  for await (const event of stream) {
    if (event.longRunningToolIds) {
      queue.sendToolResponse({ id: 'c1', name: 'order', response: { state: 'sent' } });
      queue.sendContent(user('hi'));
    }
    if (event.turnComplete) queue.close();
  }
  expect(asked).toEqual(['secret', { state: 'sent' }, 'hi']);
  expect((await stored()).map(summarize)).toEqual([
    'user: [removed]',
    'bot: ',
    'user: {"state":"checked"}',
    'user: hi',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent).toEqual([
    { content: user('[removed]') },
    { blob: { data: 'AA==', mimeType: 'audio/pcm' } },
    { toolResponses: [{ id: 'c1', name: 'order', response: { state: 'checked' } }] },
    { content: user('hi') },
  ]);
});

test('a plugin that throws on a message ends the run with an error event, and the message is not stored', async () => {
  class Guard extends BasePlugin {
    override onUserMessageCallback(): never {
      throw new TypeError('not this');
    }
  }
  const { queue, stream, stored } = await liveScenario({ model: [[]], plugins: [new Guard('guard')] });
  queue.sendContent(user('hi'));
  await expect(readTurns(stream, queue)).rejects.toMatchObject({ code: 'AGENT' });
  expect((await stored()).map(({ author }) => author)).toEqual(['bot']);
});

test('beforeModelCallback may change the setup of each connection, and its state changes are stored', async () => {
  const contexts: number[] = [];
  const beforeModelCallback = ({ context, request }: { context: CallbackContext; request: LlmRequest }): undefined => {
    request.config.systemInstruction = `Call ${contexts.push(request.contents.length)}.`;
    context.state.set('connections', contexts.length);
  };
  const { model, queue, stream, session } = await liveScenario({
    model: [
      [{ heard: 'content' }, 'One', END, { ends: 1006 }],
      [{ heard: 'history' }, 'Two', END],
    ],
    agent: { beforeModelCallback },
  });
  queue.sendContent(user('hi'));
  await readTurns(stream, queue, 2);
  expect(model.connections.map(({ request }) => request.config.systemInstruction)).toEqual(['Call 1.', 'Call 2.']);
  expect(contexts).toEqual([0, 2]);
  expect((await session()).state['connections']).toBe(2);
});

test("a callback that replies instead of the model ends the agent's part before a connection is opened", async () => {
  class Closed extends BasePlugin {
    override beforeModelCallback(): LlmResponse {
      return { content: { role: 'model', parts: [{ text: 'We are closed.' }] } };
    }
  }
  const { model, stream, stored } = await liveScenario({ plugins: [new Closed('closed')] });
  for await (const _ of stream);
  expect(model.attempts).toBe(0);
  expect((await stored()).map(summarize)).toEqual(['bot: We are closed.']);
});

test('afterModelCallback replaces the content of a model message and keeps its turn signals', async () => {
  const seen: LlmResponse[] = [];
  const afterModelCallback = ({ context, response }: { context: CallbackContext; response: LlmResponse }) => {
    seen.push(response);
    context.state.set('pieces', seen.length);
    return response.content?.parts?.[0]?.text === 'damn'
      ? { content: { role: 'model', parts: [{ text: 'well' }] } }
      : undefined;
  };
  const { queue, stream, stored, session } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        'Oh ',
        { content: { role: 'model', parts: [{ text: 'damn' }] }, ...END },
        { usageMetadata: { totalTokenCount: 1 } },
      ],
    ],
    agent: { afterModelCallback },
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.filter(({ partial }) => partial).map(summarize)).toEqual(['bot: Oh ', 'bot: well']);
  expect((await stored()).filter(({ content, turnComplete }) => content ?? turnComplete).map(summarize)).toEqual([
    'user: hi',
    'bot: Oh well',
    'bot: end',
  ]);
  expect(seen).toHaveLength(2);
  expect((await session()).state['pieces']).toBe(2);
});

test('a piece that afterModelCallback replaces stays a piece of the whole that follows', async () => {
  const say = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
  const { queue, stream, stored } = await liveScenario({
    model: [
      [{ heard: 'content' }, { ...say('Hel'), partial: true }, { ...say('lo'), partial: true }, say('Hello'), END],
    ],
    agent: { afterModelCallback: ({ response }) => say((response.content?.parts?.[0]?.text ?? '').toUpperCase()) },
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.filter(({ partial }) => partial).map(summarize)).toEqual(['bot: HEL', 'bot: LO']);
  expect((await stored()).map(summarize)).toEqual(['user: hi', 'bot: HELLO', 'bot: end']);
});

test.each([
  ['what it wrote', ['Hel', 'lo', END], 'Hello'],
  [
    'what it spoke',
    [{ outputTranscription: { text: 'Good' } }, { outputTranscription: { text: ' day' } }, END],
    'Good day',
  ],
])('an agent with an output key stores %s', async (_, said, kept) => {
  const { queue, stream, session } = await liveScenario({
    model: [[{ heard: 'content' }, ...said]],
    agent: { outputKey: 'answer' },
  });
  queue.sendContent(user('hi'));
  await readTurns(stream, queue);
  expect((await session()).state['answer']).toBe(kept);
});

test('a callback that ends the invocation before the model call ends the run without a connection', async () => {
  const { model, stream, stored } = await liveScenario({
    agent: {
      beforeModelCallback: ({ context }) => {
        context.invocationContext.endInvocation = true;
        return undefined;
      },
    },
  });
  for await (const _ of stream);
  expect(model.attempts).toBe(0);
  expect(await stored()).toEqual([]);
});

test("a callback that ends the invocation and drops the model's content ends the run without stored events", async () => {
  const { model, stream, stored } = await liveScenario({
    model: [['Hello']],
    agent: {
      afterModelCallback: ({ context }) => {
        context.invocationContext.endInvocation = true;
        return {};
      },
    },
  });
  for await (const _ of stream);
  expect(model.connections[0]?.isClosed).toBe(true);
  expect(await stored()).toEqual([]);
});
