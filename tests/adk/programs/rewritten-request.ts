import { InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

// The callback changes the parts of the request themselves.
const agent = new LlmAgent({
  name: 'translator',
  model: 'gemini-flash-latest',
  instruction: 'Help.',
  beforeModelCallback: ({ request }) => {
    for (const { parts = [] } of request.contents)
      for (const part of parts) if (part.text?.includes('Oslo')) part.text = part.text.replace('Oslo', 'Kristiania');
    return undefined;
  },
});

const program: Program = {
  replies: [jsonReply(wireResponse('Oslo is cold.')), jsonReply(wireResponse('It is.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'names' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'names', userId: 'ann' });
    for (const text of ['How is Oslo?', 'Is it?'])
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) }))
        tell(event);
    const session = await runner.sessionService.getSession({ appName: 'names', userId: 'ann', sessionId });
    tell({ stored: session?.events.map(({ content }) => content?.parts?.[0]?.text) });
  },
};
export default program;
