import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { Event, LlmRequest } from '@eventloom/core';
import { ScriptedLiveModel, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { liveScenario } from './fixtures/live-scenario.ts';

/** A model for live runs and for other runs. */
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

test.each([{ saveLiveBlob: true }, { saveLiveBlob: true, saveLiveModelAudioToSession: true }])(
  'the next text run gets the live conversation and its tool calls, without recordings and audio (%j)',
  async (runConfig) => {
    const speech = { data: 'AAAA', mimeType: 'audio/pcm;rate=24000' };
    const spoken = new ScriptedLiveModel([
      [
        { heard: 'blob' },
        { inputTranscription: { text: 'What is ' } },
        { inputTranscription: { text: 'the weather?' } },
        {
          content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } } }] },
        },
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
    const { queue, stream, run } = await liveScenario({
      agent: { model, tools: [weather] },
      artifactService: new InMemoryArtifactService(),
      runConfig,
    });
    queue.sendRealtime(speech);
    const events: Event[] = [];
    for await (const event of stream) {
      events.push(event);
      if (event.interrupted && !event.outputTranscription) queue.sendContent(user('thanks'));
      if (event.turnComplete) queue.close();
    }
    expect(events.some(({ content }) => content?.parts?.[0]?.fileData)).toBe(true);

    await run('How was it?', { runConfig: {} });
    expect(model.requests[0]?.request.contents).toEqual([
      user('What is the weather?'),
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: { city: 'Oslo' } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'weather', response: { sky: 'grey' } } }] },
      { role: 'model', parts: [{ text: 'It is grey, and' }] },
      user('thanks'),
      { role: 'model', parts: [{ text: 'You are welcome' }] },
      user('How was it?'),
    ]);
  },
);

test.each([true, false])(
  'saveLiveModelAudioToSession: %j decides whether the session has the audio',
  async (isSaved) => {
    const speech = { data: 'AAAA', mimeType: 'audio/pcm;rate=24000' };
    const picture = { data: 'AAAA', mimeType: 'image/png' };
    const model = new ScriptedLiveModel([
      [
        { heard: 'content' },
        { content: { role: 'model', parts: [{ inlineData: speech }] } },
        { content: { role: 'model', parts: [{ inlineData: picture }] } },
        { turnComplete: true },
      ],
    ]);
    const { queue, stream, stored } = await liveScenario({
      model,
      runConfig: { saveLiveModelAudioToSession: isSaved },
    });
    queue.sendContent(user('speak'));
    for await (const event of stream) if (event.turnComplete) queue.close();
    const media = (await stored())
      .flatMap(({ content }) => content?.parts ?? [])
      .flatMap(({ inlineData }) => inlineData ?? []);
    expect(media).toEqual(isSaved ? [speech] : []);
  },
);
