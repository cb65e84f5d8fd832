import { type Context, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program, Tell } from '../stage.ts';

/** Reports which keys a callback sees in the session of its run, and which the session service has stored. */
async function watch(tell: Tell, place: string, { invocationContext }: Context): Promise<void> {
  const { session, sessionService } = invocationContext;
  const stored = await sessionService?.getSession({
    appName: session.appName,
    userId: session.userId,
    sessionId: session.id,
  });
  const keys = ['one', 'two', 'three', 'four'];
  tell({
    place,
    seen: keys.filter((key) => key in session.state),
    stored: keys.filter((key) => key in (stored?.state ?? {})),
  });
}

const program: Program = {
  replies: [jsonReply(wireResponse('I answer once.'))],
  main(tell) {
    const agent = new LlmAgent({
      name: 'observer',
      model: 'gemini-flash-latest',
      instruction: 'Answer once.',
      beforeAgentCallback: async (context) => {
        if (context.state.has('one')) return { role: 'model', parts: [{ text: 'I have answered already.' }] };
        context.state.set('one', 1);
        await watch(tell, 'before the agent', context);
        return undefined;
      },
      beforeModelCallback: async ({ context }) => {
        context.state.set('two', 2);
        await watch(tell, 'before the model', context);
        return undefined;
      },
      afterModelCallback: async ({ context }) => {
        context.state.set('three', 3);
        await watch(tell, 'after the model', context);
        return undefined;
      },
      afterAgentCallback: async (context) => {
        context.state.set('four', 4);
        await watch(tell, 'after the agent', context);
        return undefined;
      },
    });
    return converse(tell, agent, ['Hello.', 'Hello again.']);
  },
};
export default program;
