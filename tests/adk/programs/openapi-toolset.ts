import { InMemoryRunner, LlmAgent, OpenAPIToolset, RestApiTool } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { servePets } from '../local-servers.ts';
import type { Program } from '../stage.ts';

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'get_pet', args: { pet_id: 'a/b', with_toys: true } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'add_pet', args: { pet_name: 'Rex', age: 3 } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'get_pet', args: { pet_id: 'missing' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'list_toys', args: { pet_id: 'rex' } }] })),
    jsonReply(wireResponse('Done.')),
  ],
  async main(tell) {
    await using api = await servePets();
    const toolset = new OpenAPIToolset({ specStr: api.document, headerProvider: () => ({ 'Accept-Language': 'no' }) });
    const tools = await toolset.getTools();
    tell(tools.map(({ name, description }) => `${name}: ${description}`).join(', '));
    tell(String(tools.every((tool) => tool instanceof RestApiTool)));
    const { servers } = JSON.parse(api.document) as { readonly servers: readonly { readonly url: string }[] };
    const listToys = new RestApiTool(
      'list_toys',
      'Lists the toys of a pet.',
      { baseUrl: servers[0]?.url ?? '', path: '/pets/{petId}/toys', method: 'get' },
      { parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'string' } }], responses: {} },
    );
    const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [toolset, listToys] });
    const runner = new InMemoryRunner({ agent, appName: 'pets' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'pets', userId: 'ann' });
    const newMessage = createUserContent('Look after the pets.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};
export default program;
