// A streamed reply that says something before it calls a tool.
import { FunctionTool, getFunctionCalls, InMemoryRunner, LlmAgent, StreamingMode } from '@google/adk';
import { sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'rain' });

const program: Program = {
  replies: [
    sseReply([
      wireResponse({ text: 'Let me ', finishReason: null }),
      wireResponse({ text: 'look.', finishReason: null }),
      wireResponse({ calls: [{ name: 'look', args: {} }] }),
    ]),
    sseReply([wireResponse('It rains.')]),
  ],
  async main(tell) {
    const agent = new LlmAgent({ name: 'watcher', model: 'gemini-flash-latest', tools: [look] });
    const runner = new InMemoryRunner({ agent, appName: 'talk' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
    const newMessage = { role: 'user', parts: [{ text: 'The weather?' }] };
    const runConfig = { streamingMode: StreamingMode.SSE };
    let calls = 0;
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig })) {
      tell(event);
      calls += getFunctionCalls(event).length;
    }
    tell({ calls });
  },
};
export default program;
