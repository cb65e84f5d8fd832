import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, serverScenario } from './fixtures/server-scenario.ts';

test('a call in the session of a customer runs when staff approve it with a proof, and not when the customer does', async () => {
  const refund = new FunctionTool({
    name: 'refund',
    description: 'Pays money back.',
    execute: (_args, toolContext) => {
      const answer = toolContext.toolConfirmation;
      // Stands for the check of a signature.
      if (answer?.confirmed && answer.payload === 'signed by bea') return { paid: true };
      return toolContext.requestConfirmation({ hint: 'A colleague must approve this.' });
    },
  });
  const { send } = await serverScenario({
    steps: [{ calls: [{ name: 'refund' }] }, 'Please wait.', 'Please wait.', 'Paid.'],
    agent: { name: 'desk', tools: [refund] },
    authenticate: ({ headers }) => {
      const user = headers.get('authorization');
      const customer = headers.get('x-customer');
      // A staff member works in the sessions of the customer in the request.
      if (user === 'bea' && customer) return { userId: customer };
      return user ? { userId: user } : undefined;
    },
  });
  const say = (part: object, headers: Record<string, string>): Promise<Response> =>
    send('POST', '/run', { ...KEY, newMessage: { parts: [part] } }, headers);
  const read = async (response: Response): Promise<Event[]> => (await response.json()) as Event[];
  const approval = (events: readonly Event[], payload?: string): object => {
    const { id, name } = events.flatMap(getFunctionCalls).find((call) => call.name?.startsWith('adk_')) ?? {};
    return { functionResponse: { id, name, response: { confirmed: true, payload } } };
  };
  const [ann, bea] = [{ authorization: 'ann' }, { authorization: 'bea' }];
  const asked = await read(await say({ text: 'Refund me.' }, ann));
  expect((await say(approval(asked, 'signed by bea'), bea)).status).toBe(403);
  const again = await read(await say(approval(asked), ann));
  const approved = await read(await say(approval(again, 'signed by bea'), { ...bea, 'x-customer': 'ann' }));
  expect(approved.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual([{ paid: true }]);
});
