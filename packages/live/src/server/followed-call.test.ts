import { parseEvent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedLiveModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { live } from '../live.ts';
import { LiveRequestQueue } from '../live-request-queue.ts';

const IDS = { userId: 'ann', sessionId: 's' };

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

/** The frames that a client gets of a run, by their ids. */
async function follow(runner: Runner, invocationId: string, lastEventId = '0') {
  const server = createServer({ runners: [runner] });
  const path = `/apps/app/users/ann/sessions/s/runs/${invocationId}`;
  const response = await server.fetch(
    new Request(`http://localhost${path}`, { headers: { 'last-event-id': lastEventId } }),
  );
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, id = '', json = ''] = /^id: (\S+)\ndata: (.*)$/s.exec(block) ?? [];
      return { id, event: parseEvent(json) };
    });
}

test.each(['typed', 'spoken'])(
  'a client that follows a live run gets what the user said and typed, the first and the last words included (%s)',
  async (first) => {
    const model = new ScriptedLiveModel([
      [
        { heard: first === 'typed' ? 'content' : 'blob' },
        ...(first === 'typed' ? [] : [{ inputTranscription: { text: 'Hi', finished: true } }]),
        'Hello',
        { turnComplete: true },
        { heard: /More/ },
        { inputTranscription: { text: 'Bye', finished: true } },
        { heard: 'blob' },
      ],
    ]);
    const sessionService = new InMemorySessionService();
    const agent = new LlmAgent({ name: 'speaker', model });
    const runner = new Runner({ appName: 'app', agent, sessionService, live: live(), autoCreateSession: true });
    const liveRequestQueue = new LiveRequestQueue();
    const stream = runner.runLive({ ...IDS, liveRequestQueue });
    if (first === 'typed') liveRequestQueue.sendContent(user('Hi'));
    else liveRequestQueue.sendRealtime({ mimeType: 'audio/pcm', data: 'AAAA' });
    for await (const { turnComplete, inputTranscription } of stream) {
      if (turnComplete) liveRequestQueue.sendContent(user('More'));
      if (inputTranscription?.text === 'Bye') liveRequestQueue.close();
    }
    const stored = (await sessionService.getSession({ appName: 'app', ...IDS }))?.events ?? [];
    const frames = await follow(runner, stream.invocationId);
    expect(frames.map(({ event }) => event.id)).toEqual(stored.map(({ id }) => id));
    expect(frames.map(({ event }) => event.author)).toEqual(['user', 'speaker', 'speaker', 'user', 'user']);
    for (const [index, { id }] of frames.entries())
      expect(await follow(runner, stream.invocationId, id)).toEqual(frames.slice(index + 1));
  },
);
