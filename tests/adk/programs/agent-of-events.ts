import {
  BaseAgent,
  createEvent,
  createEventActions,
  type Event,
  type EventActions,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
  requireAgent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

/** An agent without a model that writes its event as an object. */
class Packer extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield {
      id: 'packed',
      invocationId: context.invocationId,
      author: requireAgent(context).name,
      content: { parts: [{ text: 'The box is packed.' }] },
      actions: createEventActions(),
      timestamp: Date.now(),
    };
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    yield* [];
  }
}

/** An agent that ends the loop when the state says so, under another author than its name. */
class Inspector extends BaseAgent {
  protected override async *runAsyncImpl({ agent, session }: InvocationContext): AsyncGenerator<Event> {
    const actions: EventActions = createEventActions({ escalate: session.state['seal'] === 'whole' });
    yield createEvent({ author: `inspection of ${agent?.name}`, actions });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event> {}
}

const clerk = new LlmAgent({ name: 'clerk', model, description: 'Answers questions.' });
const packer = new Packer({ name: 'packer', description: 'Packs boxes.' });
const foreman = new LlmAgent({ name: 'foreman', model, description: 'Delegates.', subAgents: [clerk, packer] });
const sealer = new LlmAgent({ name: 'sealer', model, instruction: 'Seal the box.', outputKey: 'seal' });
const sealing = new LoopAgent({
  name: 'sealing',
  maxIterations: 10,
  subAgents: [sealer, new Inspector({ name: 'inspector' })],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'packer' } }] })),
    jsonReply(wireResponse('It is packed.')),
    jsonReply(wireResponse('torn')),
    jsonReply(wireResponse('whole')),
  ],
  async main(tell) {
    tell({ parents: [clerk, packer].map(({ parentAgent }) => parentAgent === foreman) });
    const runner = new InMemoryRunner({ agent: foreman, appName: 'store' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'store', userId: 'ann' });
    for (const text of ['Pack the box.', 'Is it packed?']) {
      const newMessage = createUserContent(text);
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    }
    await converse(tell, sealing, ['Seal it.']);
  },
};
export default program;
