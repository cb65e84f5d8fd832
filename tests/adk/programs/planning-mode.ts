import { FunctionTool, InMemoryRunner, LlmAgent, RoutedAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const readFile = new FunctionTool({
  name: 'read_file',
  description: 'Reads a file.',
  parameters: z.object({ filePath: z.string() }),
  execute: (args) => ({ content: `Contents of ${args.filePath}` }),
});
const writeFile = new FunctionTool({
  name: 'write_file',
  description: 'Writes a file.',
  parameters: z.object({ filePath: z.string(), content: z.string() }),
  execute: (args) => ({ result: `Wrote ${args.filePath}` }),
});
const model = 'gemini-flash-latest';
const basic = new LlmAgent({ name: 'basic', model, instruction: 'Help.', tools: [readFile, writeFile] });
const planning = new LlmAgent({ name: 'planning', model, instruction: 'Plan. Only read.', tools: [readFile] });
let isPlanning = true;
const agent = new RoutedAgent({
  name: 'routed',
  agents: { basic, planning },
  router: () => (isPlanning ? 'planning' : 'basic'),
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'read_file', args: { filePath: 'plan.txt' } }] })),
    jsonReply(wireResponse('The plan is ready.')),
    jsonReply(wireResponse({ calls: [{ name: 'write_file', args: { filePath: 'plan.txt', content: 'Done.' } }] })),
    jsonReply(wireResponse('It is written.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'files' });
    const session = await runner.sessionService.createSession({ appName: 'files', userId: 'ann' });
    for (const text of ['Read the plan.', 'Write it.']) {
      const newMessage = { role: 'user', parts: [{ text }] };
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
      isPlanning = false;
    }
  },
};
export default program;
