import { EventType, InMemoryRunner, LlmAgent, StreamingMode, toStructuredEvents } from '@google/adk';
import { createUserContent } from '@google/genai';
import { sseReply, wireChunks } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const agent = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash', instruction: 'Help.' });

const program: Program = {
  replies: [sseReply(wireChunks(['Hel', 'lo ', 'Ann.']))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'streams' });
    const session = await runner.sessionService.createSession({ appName: 'streams', userId: 'ann' });
    const run = runner.runAsync({
      userId: 'ann',
      sessionId: session.id,
      newMessage: createUserContent('Hello!'),
      runConfig: { streamingMode: StreamingMode.SSE },
    });
    for await (const event of run) {
      tell(event);
      for (const said of toStructuredEvents(event))
        tell(said.type === EventType.CONTENT ? `${said.type}: ${said.content}` : said.type);
    }
  },
};
export default program;
