import { AgentTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const summarizer = new LlmAgent({
  name: 'summary_agent',
  model: 'gemini-2.5-flash',
  description: 'Summarizes texts.',
  instruction: 'Summarize.',
});

const agent = new LlmAgent({
  name: 'root_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Use the tool.',
  tools: [new AgentTool({ agent: summarizer, skipSummarization: true })],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'summary_agent', args: { request: 'A long text.' } }] })),
    jsonReply(wireResponse('A text.')),
    jsonReply(wireResponse('In short: a text.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'summaries' });
    const session = await runner.sessionService.createSession({ appName: 'summaries', userId: 'ann' });
    const newMessage = createUserContent('Summarize: A long text.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
  },
};
export default program;
