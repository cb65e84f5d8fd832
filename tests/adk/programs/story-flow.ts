import {
  BaseAgent,
  type Event,
  InMemoryRunner,
  type InvocationContext,
  isFinalResponse,
  LlmAgent,
  LoopAgent,
  SequentialAgent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const generator = new LlmAgent({
  name: 'Generator',
  model,
  instruction: 'Write a story about {topic}.',
  outputKey: 'story',
});
const critic = new LlmAgent({
  name: 'Critic',
  model,
  instruction: 'Review the story: {story}',
  outputKey: 'criticism',
});
const reviser = new LlmAgent({
  name: 'Reviser',
  model,
  instruction: 'Revise {story} by {criticism}',
  outputKey: 'story',
});
const grammar = new LlmAgent({ name: 'Grammar', model, instruction: 'Check {story}', outputKey: 'grammar' });
const tone = new LlmAgent({ name: 'Tone', model, instruction: 'Say the tone of {story}', outputKey: 'tone' });

class StoryFlow extends BaseAgent {
  private readonly loop: LoopAgent;
  private readonly checks: SequentialAgent;

  constructor() {
    const loop = new LoopAgent({ name: 'Improve', subAgents: [critic, reviser], maxIterations: 1 });
    const checks = new SequentialAgent({ name: 'Checks', subAgents: [grammar, tone] });
    super({ name: 'StoryFlow', subAgents: [generator, loop, checks] });
    this.loop = loop;
    this.checks = checks;
  }

  override async *runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    yield* this.runAsyncImpl(context);
  }

  override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    for await (const event of generator.runAsync(context)) yield event;
    if (!context.session.state['story']) return;
    for await (const event of this.loop.runAsync(context)) yield event;
    for await (const event of this.checks.runAsync(context)) yield event;
    if (context.session.state['tone'] === 'negative') yield* generator.runAsync(context);
  }
}

const program: Program = {
  replies: ['Once.', 'Too short.', 'Once upon a time.', 'Fine.', 'negative', 'A happy day.'].map((text) =>
    jsonReply(wireResponse(text)),
  ),
  async main(tell) {
    const runner = new InMemoryRunner({ agent: new StoryFlow(), appName: 'stories' });
    const session = await runner.sessionService.createSession({
      appName: 'stories',
      userId: 'ann',
      sessionId: 's1',
      state: { topic: 'a kitten' },
    });
    session.state['topic'] = 'a robot';
    const newMessage = createUserContent('Write.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: 's1', newMessage })) {
      tell(event);
      tell({ final: isFinalResponse(event) });
    }
    const stored = await runner.sessionService.getSession({ appName: 'stories', userId: 'ann', sessionId: 's1' });
    tell(stored?.state);
  },
};
export default program;
