import { FunctionTool, getFunctionCalls, InMemoryRunner, LlmAgent, type RunConfig } from '@google/adk';
import type { Part } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const add = new FunctionTool({
  name: 'add',
  description: 'Adds one.',
  parameters: z.object({ to: z.number() }),
  execute: () => 'this tool runs on the client',
});
const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: ({ amount }) => ({ paid: amount }),
});
const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', tools: [add, pay] });
const payment = jsonReply(wireResponse({ calls: [{ name: 'pay', args: { amount: 5 } }] }));

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'add', args: { to: 1 } }] })),
    jsonReply(wireResponse('It is 2.')),
    payment,
    jsonReply(wireResponse('Paid.')),
    payment,
    jsonReply(wireResponse('Not paid.')),
    jsonReply(wireResponse('You are welcome.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'desk' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'desk', userId: 'ann' });
    let call = { id: '', name: '' };
    const send = async (part: Part, runConfig: RunConfig) => {
      const newMessage = { role: 'user', parts: [part] };
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig })) {
        tell(event);
        const [made] = getFunctionCalls(event);
        if (made) call = { id: made.id ?? '', name: made.name ?? '' };
      }
    };
    const paused: RunConfig = { pauseOnToolCalls: true };
    await send({ text: 'Add one to 1.' }, paused);
    await send({ functionResponse: { ...call, response: { result: 2 } } }, paused);
    const typed: RunConfig = { plainTextToolConfirmation: true };
    await send({ text: 'Pay 5.' }, typed);
    await send({ text: ' Yes ' }, typed);
    await send({ text: 'Pay 5 again.' }, typed);
    await send({ text: 'no' }, typed);
    await send({ text: 'ok' }, typed);
  },
};
export default program;
