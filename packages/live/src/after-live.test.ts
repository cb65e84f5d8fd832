import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { Event, LlmRequest } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedLiveModel, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { live } from './live.ts';
import { LiveRequestQueue } from './live-request-queue.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

/** A model that speaks as well as it writes. */
class SpeakingModel extends ScriptedModel {
  readonly live: ScriptedLiveModel;

  constructor(live: ScriptedLiveModel, replies: ConstructorParameters<typeof ScriptedModel>[0]) {
    super(replies);
    this.live = live;
  }

  override connect(request: LlmRequest, abortSignal?: AbortSignal) {
    return this.live.connect(request, abortSignal);
  }
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

test('the next text run knows what was said, written and called live, and nothing of recordings and unanswered pieces', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const speech = { data: 'AAAA', mimeType: 'audio/pcm;rate=24000' };
  const spoken = new ScriptedLiveModel([
    [
      { heard: 'blob' },
      { inputTranscription: { text: 'What is ' } },
      { inputTranscription: { text: 'the weather?' } },
      { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } } }] } },
      { heard: 'toolResponses' },
      { content: { role: 'model', parts: [{ inlineData: speech }] }, outputTranscription: { text: 'It is ' } },
      { outputTranscription: { text: 'grey, and' } },
      { interrupted: true },
      { heard: /thanks/ },
      'You are welcome',
      { turnComplete: true },
    ],
  ]);
  const model = new SpeakingModel(spoken, ['It was grey.']);
  const weather = new FunctionTool({ name: 'weather', description: '', execute: () => ({ sky: 'grey' }) });
  const runner = new Runner({
    appName: 'app',
    live: live(),
    agent: new LlmAgent({ name: 'bot', model, tools: [weather] }),
    sessionService,
    artifactService: new InMemoryArtifactService({ platform }),
    platform,
  });
  const queue = new LiveRequestQueue();
  queue.sendRealtime(speech);
  const runConfig = { saveLiveBlob: true };
  const events: Event[] = [];
  for await (const event of runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue: queue, runConfig })) {
    events.push(event);
    if (event.interrupted && !event.outputTranscription) queue.sendContent(user('thanks'));
    if (event.turnComplete) queue.close();
  }
  expect(events.some(({ content }) => content?.parts?.[0]?.fileData)).toBe(true);

  await runner.run({ userId: 'u', sessionId: 's', newMessage: user('How was it?') });
  expect(model.requests[0]?.request.contents).toEqual([
    user('What is the weather?'),
    { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } } }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'weather', response: { sky: 'grey' } } }] },
    { role: 'model', parts: [{ text: 'It is grey, and' }] },
    user('thanks'),
    { role: 'model', parts: [{ text: 'You are welcome' }] },
    user('How was it?'),
  ]);
});
