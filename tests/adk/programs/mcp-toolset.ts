import { InMemoryRunner, LlmAgent, LoadMcpResourceTool, MCPToolset } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { fetchMcp } from '../local-servers.ts';
import type { Program } from '../stage.ts';

const toolset = new MCPToolset(
  {
    type: 'StreamableHTTPConnectionParams',
    url: 'http://mcp.test/mcp',
    transportOptions: { fetch: fetchMcp, requestInit: { headers: { 'x-key': 'secret' } } },
  },
  [],
  'numbers',
);

const agent = new LlmAgent({
  name: 'calculator',
  model: 'gemini-2.5-flash',
  instruction: 'Calculate.',
  tools: [toolset, new LoadMcpResourceTool(toolset)],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'load_mcp_resource', args: { resource_names: ['rules'] } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'numbers_add', args: { a: 5, b: 3 } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'numbers_fail', args: {} }] })),
    jsonReply(wireResponse('It is 8.')),
  ],
  async main(tell) {
    tell((await toolset.getTools()).map(({ name, description }) => `${name}: ${description}`).join(', '));
    tell((await toolset.listResources()).join(', '));
    tell(await toolset.readResource('rules'));
    const runner = new InMemoryRunner({ agent, appName: 'math' });
    const session = await runner.sessionService.createSession({ appName: 'math', userId: 'ann' });
    const newMessage = createUserContent('5 + 3?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    await toolset.close();
  },
};
export default program;
