import { InMemoryRunner, LlmAgent, MCPToolset } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { serveMcp } from '../local-servers.ts';
import type { Program } from '../stage.ts';

const TOKEN = 'YOUR_TOKEN';

function createAgent(url: string, token: string): LlmAgent {
  return new LlmAgent({
    name: 'calculator',
    model: 'gemini-flash-latest',
    instruction: 'Calculate with the server.',
    tools: [
      new MCPToolset({
        type: 'StreamableHTTPConnectionParams',
        url,
        transportOptions: { requestInit: { headers: { Authorization: `Bearer ${token}`, 'X-MCP-Readonly': 'true' } } },
      }),
    ],
  });
}

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'add', args: { a: 5, b: 3 } }] })),
    jsonReply(wireResponse('It is 8.')),
  ],
  async main(tell) {
    await using server = await serveMcp({ authorization: `Bearer ${TOKEN}`, 'x-mcp-readonly': 'true' });
    for (const token of [TOKEN, 'wrong']) {
      const runner = new InMemoryRunner({ agent: createAgent(server.url, token), appName: 'math' });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'math', userId: 'ann' });
      const newMessage = createUserContent('5 + 3?');
      try {
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      } catch (error) {
        tell(`refused: ${error instanceof Error}`);
      }
    }
  },
};
export default program;
