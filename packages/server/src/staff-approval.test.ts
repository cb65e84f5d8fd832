import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { createServer } from './create-server.ts';

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
  const model = new ScriptedModel([{ calls: [{ name: 'refund' }] }, 'Please wait.', 'Please wait.', 'Paid.']);
  const agent = new LlmAgent({ name: 'desk', model, tools: [refund] });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  const server = createServer({
    runners: [runner],
    authenticate: ({ headers }) => {
      const user = headers.get('authorization');
      const customer = headers.get('x-customer');
      // A staff member works in the sessions of the customer in the request.
      if (user === 'bea' && customer) return { userId: customer };
      return user ? { userId: user } : undefined;
    },
  });
  const send = async (part: object, headers: Record<string, string>): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/run', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [part] } }),
      }),
    );
  const read = async (response: Response): Promise<Event[]> => (await response.json()) as Event[];
  const approval = (events: readonly Event[], payload?: string): object => {
    const { id, name } = events.flatMap(getFunctionCalls).find((call) => call.name?.startsWith('adk_')) ?? {};
    return { functionResponse: { id, name, response: { confirmed: true, payload } } };
  };
  const [ann, bea] = [{ authorization: 'ann' }, { authorization: 'bea' }];
  const asked = await read(await send({ text: 'Refund me.' }, ann));
  expect((await send(approval(asked, 'signed by bea'), bea)).status).toBe(403);
  const again = await read(await send(approval(asked), ann));
  const approved = await read(await send(approval(again, 'signed by bea'), { ...bea, 'x-customer': 'ann' }));
  expect(approved.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual([{ paid: true }]);
});
