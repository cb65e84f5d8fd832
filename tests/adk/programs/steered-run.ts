import { setImmediate } from 'node:timers/promises';
import {
  BasePlugin,
  createEvent,
  createEventActions,
  FunctionTool,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** Keeps the context of the run for the program. */
class ContextPlugin extends BasePlugin {
  invocationContext?: InvocationContext;

  override async beforeRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<Content | undefined> {
    this.invocationContext = invocationContext;
    return undefined;
  }
}

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'wait', args: { seconds: 1 } }] })),
    jsonReply(wireResponse('Goodbye.')),
  ],
  async main(tell) {
    const plugin = new ContextPlugin('context');
    let steer = async (): Promise<void> => {};
    let steered = Promise.resolve();
    const wait = new FunctionTool({
      name: 'wait',
      description: 'Waits.',
      parameters: z.object({ seconds: z.number() }),
      execute: async () => {
        // Nobody waits for it: the ADK appends at once, Eventloom when the run has ended.
        steered = steer();
        await setImmediate();
        return { status: 'done' };
      },
    });
    const agent = new LlmAgent({
      name: 'steered-agent',
      model: 'gemini-flash-latest',
      instruction: 'Follow hints.',
      tools: [wait],
      beforeModelCallback: async ({ request, context }) => {
        const hints = (context.state.get('hints') as string[] | undefined) ?? [];
        for (const hint of hints) request.contents.push(createUserContent(`(HINT: ${hint})`));
        if (hints.length > 0) context.state.set('hints', []);
        return undefined;
      },
    });
    const runner = new InMemoryRunner({ agent, appName: 'steering', plugins: [plugin] });
    const session = await runner.sessionService.createSession({
      appName: 'steering',
      userId: 'ann',
      sessionId: 's',
      state: { hints: [] },
    });
    steer = async () => {
      const event = createEvent({
        invocationId: plugin.invocationContext?.invocationId ?? 'none',
        author: 'system',
        actions: createEventActions({ stateDelta: { hints: ['say goodbye'] } }),
      });
      try {
        await runner.sessionService.appendEvent({ session, event });
        tell('appended');
      } catch (error) {
        tell(`not appended: ${error instanceof Error ? error.name : 'unknown'}`);
      }
    };
    for await (const event of runner.runAsync({
      userId: 'ann',
      sessionId: session.id,
      newMessage: createUserContent('Wait.'),
    }))
      tell(event);
    await steered;
    const after = await runner.sessionService.getSession({ appName: 'steering', userId: 'ann', sessionId: 's' });
    tell({ state: { ...after?.state } });
  },
};
export default program;
