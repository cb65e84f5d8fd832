import { FunctionTool, InMemoryRunner, LlmAgent, type RunConfig, StreamingMode } from '@google/adk';
import { createUserContent, Modality } from '@google/genai';
import { jsonReply, sseReply, wireChunks, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const speech: RunConfig = {
  speechConfig: { languageCode: 'en-US', voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
  responseModalities: [Modality.AUDIO, Modality.TEXT],
  streamingMode: StreamingMode.SSE,
  maxLlmCalls: 1000,
};
const lively: RunConfig = { enableAffectiveDialog: true, proactivity: { proactiveAudio: true } };
const streamed: RunConfig = { streamingMode: StreamingMode.SSE, maxLlmCalls: 200 };
const short: RunConfig = { maxLlmCalls: 2 };

const again = new FunctionTool({ name: 'again', description: 'Asks again.', execute: () => ({ status: 'again' }) });
const agent = new LlmAgent({ name: 'speaker', model: 'gemini-flash-latest', instruction: 'Speak.', tools: [again] });
const call = jsonReply(wireResponse({ calls: [{ name: 'again', args: {} }] }));

const program: Program = {
  replies: [
    sseReply(wireChunks(['Hel', 'lo.'])),
    jsonReply(wireResponse('Hello.')),
    sseReply([wireResponse({ calls: [{ name: 'again', args: {} }] })]),
    sseReply(wireChunks(['It is ', 'done.'])),
    call,
    call,
    jsonReply(wireResponse('Hello again.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'speech' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'speech', userId: 'ann' });
    const newMessage = createUserContent('Speak.');
    for (const runConfig of [speech, lively, streamed])
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig })) tell(event);
    try {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig: short }))
        tell(event);
      tell('the run ended');
    } catch {
      tell('the run failed');
    }
    const defaults: RunConfig = { supportCfc: false, allowRemoteToolConfirmation: false, pauseOnToolCalls: false };
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage, runConfig: defaults })) tell(event);
  },
};
export default program;
