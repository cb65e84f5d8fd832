import {
  BaseAgent,
  createEvent,
  type Event,
  InMemoryRunner,
  type InvocationContext,
  isNodeTimeoutError,
  LlmAgent,
  node,
  SequentialAgent,
  START,
  Workflow,
} from '@google/adk';
import { errorReply, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

function textEvent(agent: BaseAgent, { invocationId }: InvocationContext, text: string): Event {
  return createEvent({ author: agent.name, invocationId, content: { role: 'model', parts: [{ text }] } });
}

/** Fails twice before it answers. */
class Flaky extends BaseAgent {
  #tries = 0;

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    if (++this.#tries < 3) throw new Error('busy');
    yield textEvent(this, context, 'third attempt');
  }

  // oxlint-disable-next-line require-yield
  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    throw new Error('not live');
  }
}

/** Answers too late. */
class Slow extends Flaky {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    await new Promise((resolve) => setTimeout(resolve, 400));
    yield textEvent(this, context, 'late');
  }
}

const retryConfig = { maxAttempts: 3, initialDelay: 0, jitter: 0 };

const program: Program = {
  replies: [
    errorReply({ code: 400, status: 'INVALID_ARGUMENT' }),
    jsonReply(wireResponse('Fine.')),
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'child' } }] })),
    jsonReply(wireResponse('{"n":1}')),
    jsonReply(wireResponse('Two.')),
  ],
  async main(tell) {
    const run = async (agent: BaseAgent) => {
      try {
        await converse(tell, new Workflow({ name: 'flow', edges: [[START, agent]] }), ['Go.']);
      } catch (error) {
        tell(`failed: ${(error as Error).message} ${isNodeTimeoutError(error)}`);
      }
    };
    await run(new Flaky({ name: 'flaky', retryConfig }));
    await run(new Slow({ name: 'slow', timeout: 0.05 }));
    await run(new LlmAgent({ name: 'writer', model: 'gemini-flash-latest', timeout: 5, retryConfig }));
    await run(new SequentialAgent({ name: 'steps', subAgents: [new Flaky({ name: 'inner' })], retryConfig }));
    const own = node(new Flaky({ name: 'other', retryConfig: { maxAttempts: 1 } }), { retryConfig });
    tell({ timeout: own.timeout, attempts: own.retryConfig?.maxAttempts });

    // After a sub-agent with an output schema, the next message goes to the root agent.
    const child = new LlmAgent({
      name: 'child',
      description: 'Counts.',
      outputSchema: z.object({ n: z.number() }),
      outputKey: 'count',
    });
    const peer = new LlmAgent({ name: 'peer', description: 'Sings.' });
    const root = new LlmAgent({ name: 'root', model: 'gemini-flash-latest', subAgents: [child, peer] });
    await converse(tell, root, ['one', 'two']);

    const copy = root.clone({ name: 'second' });
    tell([copy.name, copy.subAgents.map(({ name }) => name), copy.subAgents[0] === child, copy.parentAgent ?? 'none']);
    tell([new Flaky({ name: 'flaky' }).clone({ name: 'copied' }).name, copy instanceof BaseAgent]);
    tell(new InMemoryRunner({ agent: copy }).agent.name);
  },
};
export default program;
