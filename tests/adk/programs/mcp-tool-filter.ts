import { InMemoryRunner, LlmAgent, MCPSessionManager, MCPTool, MCPToolset } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { fetchMcp } from '../local-servers.ts';
import type { Program } from '../stage.ts';

const params = {
  type: 'StreamableHTTPConnectionParams' as const,
  url: 'http://mcp.test/mcp',
  transportOptions: { fetch: fetchMcp },
};

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'add', args: { a: 1, b: 1 } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'plus', args: { a: 2, b: 2 } }] })),
    jsonReply(wireResponse('Done.')),
  ],
  async main(tell) {
    const manager = new MCPSessionManager(params);
    const session = await manager.createSession();
    const { tools } = await session.listTools();
    tell(tools.map(({ name }) => name).join(', '));
    const [add] = tools;
    if (!add) throw new TypeError('the server has no tools');
    await manager.closeSession(session);
    tell(String(manager.getActiveSessions().length));
    const toolset = new MCPToolset(params, ['add']);
    const plus = new MCPTool({ ...add, name: 'plus' }, manager, 'add');
    tell(String((await toolset.getTools()).every((tool) => tool instanceof MCPTool)));
    const agent = new LlmAgent({ name: 'calculator', model: 'gemini-2.5-flash', tools: [toolset, plus] });
    const runner = new InMemoryRunner({ agent, appName: 'math' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'math', userId: 'ann' });
    const newMessage = createUserContent('1 + 1?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    await toolset.close();
  },
};
export default program;
