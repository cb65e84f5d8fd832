import { AgentTool, BaseAgent, createEvent, type Event, type InvocationContext, LlmAgent } from '@google/adk';
import type { Part } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { Buffer } from 'node:buffer';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

/** An agent without a model that draws what the state or the message asks for. */
class Draughtsman extends BaseAgent {
  constructor() {
    super({ name: 'draw', description: 'Draws a picture of the request.' });
  }

  protected override async *runAsyncImpl({ session, userContent }: InvocationContext): AsyncGenerator<Event> {
    const subject = (session.state['subject'] as string | undefined) ?? userContent?.parts?.[0]?.text ?? 'nothing';
    const picture: Part = {
      inlineData: { data: Buffer.from(`picture of ${subject}`).toString('base64'), mimeType: 'image/png' },
    };
    yield createEvent({ content: { parts: [{ text: `This is ${subject}.` }, picture] } });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const artist = new LlmAgent({
  name: 'artist',
  model: 'gemini-flash-latest',
  instruction: 'Draw with the tool.',
  tools: [new AgentTool({ agent: new Draughtsman() })],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'draw', args: { request: 'a cat' } }] })),
    jsonReply(wireResponse('It is a cat.')),
  ],
  main: (tell) => converse(tell, artist, ['Draw a cat.']),
};
export default program;
