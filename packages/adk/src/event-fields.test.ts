import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import {
  createEvent,
  createEventActions,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  StreamingMode,
} from './index.ts';

const KEY = { appName: 'app', userId: 'ann' };
const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };

async function talk(streamingMode: StreamingMode) {
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([{ chunks: ['Hel', 'lo.'] }]) });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession(KEY);
  const said = [];
  const run = runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig: { streamingMode } });
  for await (const event of run) said.push(event);
  const session = await runner.sessionService.getSession({ ...KEY, sessionId });
  return { said, stored: session?.events ?? [] };
}

describe('events of a runner and of its sessions', () => {
  test('have empty lists and requests, also in copies and in their JSON', async () => {
    const { said, stored } = await talk(StreamingMode.SSE);
    expect([said.length, stored.length]).toEqual([3, 2]);
    for (const event of [...said, ...stored])
      for (const copy of [
        event,
        { ...event },
        structuredClone(event),
        JSON.parse(JSON.stringify(event)) as typeof event,
      ])
        expect([
          copy.longRunningToolIds,
          copy.actions.requestedAuthConfigs,
          copy.actions.requestedToolConfirmations,
        ]).toEqual([[], {}, {}]);
  });

  test('say with partial: false that the reply is whole, if chunks came before', async () => {
    const { said } = await talk(StreamingMode.SSE);
    expect(said.map((event) => ({ ...event }).partial)).toEqual([true, true, false]);
    expect((await talk(StreamingMode.NONE)).said.map(({ partial }) => partial)).toEqual([undefined]);
  });

  test('can be changed by their reader at all depths, and the stored events stay as they are', async () => {
    const { said, stored } = await talk(StreamingMode.SSE);
    for (const event of [...said, ...stored]) {
      event.author = 'editor';
      event.partial = true;
      event.longRunningToolIds = ['c1'];
      event.actions.stateDelta['step'] = 1;
      for (const part of event.content?.parts ?? []) part.text = 'Changed.';
      event.content?.parts?.push({ text: 'Added.' });
      expect(JSON.parse(JSON.stringify(event))).toMatchObject({ partial: true, longRunningToolIds: ['c1'] });
    }
    const { stored: others } = await talk(StreamingMode.NONE);
    expect(others.map(({ content }) => content?.parts)).toEqual([[{ text: 'Hello?' }], [{ text: 'Hello.' }]]);
  });
});

describe('createEvent and createEventActions', () => {
  test('give lists and requests that a program can fill', () => {
    const event = createEvent({ author: 'helper' });
    event.actions.requestedToolConfirmations['c1'] = { hint: 'Sure?' };
    expect(JSON.parse(JSON.stringify(event))).toMatchObject({
      longRunningToolIds: [],
      actions: { requestedAuthConfigs: {}, requestedToolConfirmations: { c1: { hint: 'Sure?' } } },
    });
    expect(createEventActions({ requestedAuthConfigs: { c1: {} } })).toEqual({
      stateDelta: {},
      artifactDelta: {},
      requestedAuthConfigs: { c1: {} },
      requestedToolConfirmations: {},
    });
  });

  test('make events that a session stores', async () => {
    const sessions = new InMemorySessionService();
    const session = await sessions.createSession(KEY);
    const stored = await sessions.appendEvent({ session, event: createEvent({ author: 'helper' }) });
    expect([stored.longRunningToolIds, stored.actions.requestedToolConfirmations]).toEqual([[], {}]);
  });
});
