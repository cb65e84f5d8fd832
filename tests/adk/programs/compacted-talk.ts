import { createEvent, Gemini, InMemoryRunner, LlmAgent, LlmSummarizer, TokenBasedContextCompactor } from '@google/adk';
import { createUserContent } from '@google/genai';
import { type FakeGeminiStep, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const summarizer = new LlmSummarizer({ llm: new Gemini({ model: 'gemini-flash-latest' }), prompt: 'Sum up:' });
const agent = new LlmAgent({
  name: 'talker',
  model: 'gemini-flash-latest',
  instruction: 'Talk.',
  contextCompactors: [new TokenBasedContextCompactor({ tokenThreshold: 100, eventRetentionSize: 1, summarizer })],
});

const reply: FakeGeminiStep = ({ body }) =>
  jsonReply(wireResponse(JSON.stringify(body).includes('Sum up') ? 'Colours of the beach.' : 'It is red.'));

const program: Program = {
  replies: [reply, reply, reply],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'talk' });
    const session = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
    const past = [
      ['user', 'The sea?'],
      ['talker', 'The sea is blue.'],
      ['user', 'The sand?'],
      ['talker', 'The sand is yellow.'],
    ] as const;
    for (const [index, [author, text]] of past.entries()) {
      const event = createEvent({
        author,
        invocationId: `past-${Math.floor(index / 2)}`,
        timestamp: Date.parse('2026-02-10T09:15:00.000Z') + index * 1000,
        content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] },
        ...(index === 3 && { usageMetadata: { promptTokenCount: 150, totalTokenCount: 160 } }),
      });
      await runner.sessionService.appendEvent({ session, event });
    }
    for (const text of ['The sun?', 'And the moon?']) {
      const newMessage = createUserContent(text);
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    }
  },
};
export default program;
