import { InMemoryRunner, LlmAgent, MCPToolset } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { join } from 'node:path';
import process from 'node:process';
import type { Program } from '../stage.ts';

const toolset = new MCPToolset({
  type: 'StdioConnectionParams',
  serverParams: {
    command: process.execPath,
    args: [join(import.meta.dirname, '../stdio-mcp-server.ts')],
    env: { NOTES_OWNER: 'Ann' },
  },
});
const rootAgent = new LlmAgent({
  name: 'librarian',
  model: 'gemini-flash-latest',
  instruction: 'Help with the notes.',
  tools: [toolset],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'list_notes', args: {} }] })),
    jsonReply(wireResponse({ calls: [{ name: 'read_note', args: { name: 'a.txt' } }] })),
    jsonReply(wireResponse('It belongs to Ann.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'notes' });
    const session = await runner.sessionService.createSession({ appName: 'notes', userId: 'ann' });
    const newMessage = createUserContent('Whose note is a.txt?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    await toolset.close();
  },
};
export default program;
