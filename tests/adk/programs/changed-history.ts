import { BaseAgent, createEvent, type Event, InMemoryRunner, type InvocationContext, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** Changes the events of a run before its model is called, by the text of the message. Each change is for this run alone. */
class Editor extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { events } = context.session;
    const text = context.userContent?.parts?.[0]?.text;
    if (text === 'Add an event.') events.push(createEvent({ author: 'user', content: createUserContent('It rains.') }));
    if (text === 'Add objects.')
      events.push({ author: 'user', content: createUserContent('It snows.') } as Event, {} as Event);
    if (text === 'Remove the last reply.') events.splice(-2, 1);
    for (const agent of this.subAgents) yield* agent.runAsync(context);
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const helper = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest', instruction: 'Help.' });
const messages = ['Begin.', 'Add an event.', 'Add objects.', 'Remove the last reply.', 'End.'];

const program: Program = {
  replies: messages.map((_, index) => jsonReply(wireResponse(`reply ${index + 1}`))),
  async main(tell) {
    const agent = new Editor({ name: 'editor', subAgents: [helper] });
    const runner = new InMemoryRunner({ agent, appName: 'edits' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'edits', userId: 'ann' });
    for (const text of messages) {
      const newMessage = createUserContent(text);
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    }
    const session = await runner.sessionService.getSession({ appName: 'edits', userId: 'ann', sessionId });
    tell({ stored: session?.events.map(({ content }) => content?.parts?.[0]?.text) });
  },
};
export default program;
