import { FunctionTool, InMemoryRunner, LlmAgent, StreamingMode } from '@google/adk';
import { createUserContent } from '@google/genai';
import { sseReply, wireChunks } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const write = new FunctionTool({
  name: 'write',
  description: 'Writes a document.',
  parameters: z.object({ title: z.string(), text: z.string() }),
  execute: ({ title, text }) => ({ status: 'ok', length: title.length + text.length }),
});
const agent = new LlmAgent({
  name: 'writer',
  model: 'gemini-flash-latest',
  instruction: 'Write.',
  tools: [write],
});
const chunk = (functionCall: object, last?: object) => ({
  candidates: [{ content: { role: 'model', parts: [{ functionCall }] }, ...last }],
});

const program: Program = {
  replies: [
    sseReply([
      chunk({ name: 'write', willContinue: true }),
      chunk({ partialArgs: [{ jsonPath: '$.title', stringValue: 'Ag' }], willContinue: true }),
      chunk({ partialArgs: [{ jsonPath: '$.title', stringValue: 'ents' }], willContinue: true }),
      chunk({ partialArgs: [{ jsonPath: '$.text', stringValue: 'They work.' }], willContinue: true }),
      chunk({}, { finishReason: 'STOP' }),
    ]),
    sseReply(wireChunks(['It is ', 'written.'])),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'writing' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'writing', userId: 'ann' });
    const run = runner.runAsync({
      userId: 'ann',
      sessionId,
      newMessage: createUserContent('Write about agents.'),
      runConfig: { streamingMode: StreamingMode.SSE },
    });
    for await (const event of run) tell(event);
  },
};
export default program;
