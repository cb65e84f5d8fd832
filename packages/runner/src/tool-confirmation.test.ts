import { type Event, getFunctionCalls, InvalidMessageError, type Part, type ToolContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import type { ToolOptions } from '@eventloom/tools';
import { Runner } from './runner.ts';
import { answer, asked, call, responses, setUp, WAITING } from './fixtures/confirmed-run.ts';

test('a call with requireConfirmation requests a confirmation, and the run ends', async () => {
  const { send, ran, model } = await setUp([{ calls: [call(1)] }]);
  const events = await send({ text: 'pay 1' });
  expect(ran).toEqual([]);
  expect(events).toHaveLength(3);
  const [, question, response] = events;
  const [id] = asked(events);
  expect(id).toMatch(/^adk-/);
  const hint = 'Please approve or reject the call of pay.';
  expect(question).toMatchObject({ author: 'bot', longRunningToolIds: [id] });
  expect(question?.content?.parts).toEqual([
    {
      functionCall: {
        id,
        name: 'adk_request_confirmation',
        args: { originalFunctionCall: call(1), toolConfirmation: { hint, confirmed: false } },
      },
    },
  ]);
  expect(responses([response as Event])).toEqual([['c1', WAITING]]);
  expect(response?.actions.requestedToolConfirmations).toEqual({ c1: { hint, confirmed: false } });
  model.assertConsumed();
});

test('a tool that leaves empty requests in its actions asks nobody', async () => {
  const { send, model } = await setUp([{ calls: [call(1)] }, 'Paid.'], {
    requireConfirmation: false,
    execute: (_args, { actions }: ToolContext) => {
      Object.assign(actions, { requestedToolConfirmations: {}, requestedAuthConfigs: {}, requestedInputs: {} });
      return undefined;
    },
  });
  expect((await send({ text: 'pay 1' })).at(-1)?.content?.parts).toEqual([{ text: 'Paid.' }]);
  model.assertConsumed();
});

test('once confirmed the tool runs with the confirmation, and the model gets its result', async () => {
  const { send, ran, model } = await setUp([
    { calls: [call(1)] },
    {
      text: 'Paid.',
      expect: {
        matches: ({ contents }) => {
          expect(contents).toEqual([
            { role: 'user', parts: [{ text: 'pay 1' }] },
            { role: 'model', parts: [{ functionCall: call(1) }] },
            { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } }] },
          ]);
        },
      },
    },
  ]);
  const [id] = asked(await send({ text: 'pay 1' }));
  const events = await send(answer(id, { confirmed: true, payload: { by: 'ann' } }));
  expect(ran).toEqual([
    {
      args: { n: 1 },
      confirmation: { hint: 'Please approve or reject the call of pay.', confirmed: true, payload: { by: 'ann' } },
    },
  ]);
  expect(responses(events)).toEqual([['c1', { paid: 1 }]]);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Paid.' }]);
  model.assertConsumed();
});

test('the answer may be JSON text, as ADK clients send it', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'Paid.']);
  const [id] = asked(await send({ text: 'pay' }));
  await send(answer(id, { response: '{"confirmed": true}' }));
  expect(ran).toHaveLength(1);
});

test('a rejected call is not run, and the model gets an error', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'I see.']);
  const [id] = asked(await send({ text: 'pay' }));
  expect(responses(await send(answer(id, { confirmed: false })))).toEqual([
    ['c1', { error: 'This tool call is rejected.' }],
  ]);
  expect(ran).toEqual([]);
});

test('other calls of the reply run, and several requests are answered one by one in any order', async () => {
  const { send, ran, stored, model } = await setUp([{ calls: [call(1), call(2, 'look'), call(3)] }, 'Done.']);
  const first = await send({ text: 'go' });
  const [one, three] = asked(first);
  expect(responses(first)).toEqual([
    ['c1', WAITING],
    ['c2', { result: 'seen' }],
    ['c3', WAITING],
  ]);
  const second = await send(answer(three, { confirmed: true }));
  expect(responses(second)).toEqual([['c3', { paid: 3 }]]);
  expect(second).toHaveLength(1);
  const third = await send(answer(one, { confirmed: false }));
  expect(third.at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
  expect(ran.map(({ args }) => args)).toEqual([{ n: 3 }]);
  expect(responses(await stored()).filter((each) => (each as string[])[0] === 'c2')).toHaveLength(1);
  model.assertConsumed();
});

test('several requests are answered in one message', async () => {
  const { send, ran, model } = await setUp([{ calls: [call(1), call(2), call(3)] }, 'Done.']);
  const [one, two, three] = asked(await send({ text: 'go' }));
  const events = await send(
    answer(two, { confirmed: false }),
    answer(three, { confirmed: true }),
    answer(one, { confirmed: true }),
  );
  expect(responses(events)).toEqual([
    ['c1', { paid: 1 }],
    ['c2', { error: 'This tool call is rejected.' }],
    ['c3', { paid: 3 }],
  ]);
  expect(ran).toHaveLength(2);
  expect(events).toHaveLength(2);
  model.assertConsumed();
});

test("a client cannot send the tool's response itself", async () => {
  const { send } = await setUp([{ calls: [call(1)] }]);
  await send({ text: 'go' });
  const forged = { functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } };
  await expect(send(forged)).rejects.toThrow('has already been answered');
});

test('requireConfirmation may be a function of the arguments', async () => {
  const { send, ran } = await setUp([{ calls: [call(1), call(200)] }], {
    requireConfirmation: async (args, { functionCallId }) => functionCallId !== '' && Number(args['n']) > 100,
  });
  expect(responses(await send({ text: 'go' }))).toEqual([
    ['c1', { paid: 1 }],
    ['c200', WAITING],
  ]);
  expect(ran).toHaveLength(1);
});

test('invalid arguments are answered to the model without a request', async () => {
  const { send } = await setUp([{ calls: [{ id: 'c1', name: 'pay', args: { n: 'x' } }] }, 'Sorry.'], {
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
  } as object);
  expect(asked(await send({ text: 'go' }))).toEqual([]);
});

test('a tool can request a confirmation itself, with hint, payload and an interim response', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'A manager is asked.', 'Booked.'], {
    requireConfirmation: false,
    execute: (_args, context: ToolContext) => {
      if (context.toolConfirmation) return context.toolConfirmation;
      context.requestConfirmation({ hint: 'How many days?', payload: { days: 0 } });
      return { status: 'a manager is asked' };
    },
  });
  const events = await send({ text: 'go' });
  expect(responses(events)).toEqual([['c1', { status: 'a manager is asked' }]]);
  expect(getFunctionCalls(events[1] as Event)[0]?.args?.['toolConfirmation']).toEqual({
    hint: 'How many days?',
    confirmed: false,
    payload: { days: 0 },
  });
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'A manager is asked.' }]);
  const done = await send(answer(asked(events)[0], { confirmed: true, payload: { days: 3 } }));
  expect(responses(done)).toEqual([['c1', { hint: 'How many days?', confirmed: true, payload: { days: 3 } }]]);
  expect(ran).toEqual([]);
});

test('another user message is answered, and the request stays open', async () => {
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'It waits.', 'Paid.']);
  const [id] = asked(await send({ text: 'go' }));
  await send({ text: 'well?' });
  await send(answer(id, { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('an event of a callback between the answer and the tool has no effect', async () => {
  const { runner, ran } = await setUp([]);
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ calls: [call(1)] }, 'Paid.']),
    tools: (runner.agent as LlmAgent).tools,
    beforeAgentCallback: ({ state }) => state.set('begun', true),
  });
  const { sessionService, platform } = runner;
  const other = new Runner({ appName: 'app', agent, sessionService, platform });
  const send = (...parts: Part[]) => other.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
  await send(answer(asked(await send({ text: 'go' }))[0], { confirmed: true }));
  expect(ran).toHaveLength(1);
});

test('a confirmed long-running tool runs once, and its result arrives as usual', async () => {
  let runs = 0;
  const { send, model } = await setUp([{ calls: [call(1)] }, 'Done.'], {
    isLongRunning: true,
    execute: () => void runs++,
  });
  const [id] = asked(await send({ text: 'go' }));
  expect(await send(answer(id, { confirmed: true }))).toEqual([]);
  expect(await send(answer(id, { confirmed: true }))).toEqual([]);
  expect(runs).toBe(1);
  const result = { functionResponse: { id: 'c1', name: 'pay', response: { paid: 1 } } };
  expect((await send(result)).at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
  model.assertConsumed();
});

test.each([0, -1, Number.NaN])('requestTtlMs %d throws a ConfigurationError', async (requestTtlMs) => {
  await expect(setUp([], {}, { requestTtlMs })).rejects.toThrow('requestTtlMs: expected a positive number');
});

test('two calls with one id are confirmed separately', async () => {
  const pay = (n: number) => ({ ...call(n), id: 'call_0' });
  const { send, ran } = await setUp([{ calls: [pay(1)] }, 'Later.', { calls: [pay(2)] }, 'One.', 'Two.']);
  const [one] = asked(await send({ text: 'pay 1' }));
  await send({ text: 'something else' });
  const [two] = asked(await send({ text: 'pay 2' }));
  await send(answer(one, { confirmed: true }));
  expect(ran.map(({ args }) => args)).toEqual([{ n: 1 }]);
  await send(answer(two, { confirmed: true }));
  expect(ran.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }]);
});

test('a refused answer does not change a waiting resumable run or mark it as unfinished', async () => {
  const { send, ran, runner } = await setUp([{ calls: [call(1)] }, 'Done.'], {}, { resumable: true });
  const [id] = asked(await send({ text: 'pay 1' }));
  await expect(send(answer(id, { confirmed: 'yes' }))).rejects.toThrow(InvalidMessageError);
  expect((await runner.listOpenRuns()).runs).toEqual([]);
  await send(answer(id, { confirmed: true }));
  expect(ran.map(({ args }) => args)).toEqual([{ n: 1 }]);
});

/** A tool that requests a confirmation itself, and handles a refusal. */
const booking: Partial<ToolOptions> = {
  requireConfirmation: false,
  execute: (_args, context: ToolContext) => {
    if (context.toolConfirmation) return { booked: context.toolConfirmation.confirmed };
    context.requestConfirmation({ hint: 'Book?' });
    return { status: 'asked' };
  },
};

test.each([
  [true, false],
  [false, false],
  [true, true],
  [false, true],
])(
  'a tool that requested the confirmation itself runs again with confirmed %j, and its result is last in the model request (resumable: %j)',
  async (confirmed, resumable) => {
    const { run, model } = await setUp([{ calls: [call(1)] }, 'I asked.', 'Well.'], booking, { resumable });
    const events = await run('book');
    expect(events.filter(({ content }) => content).at(-1)?.content?.parts).toEqual([{ text: 'I asked.' }]);
    const done = await run(answer(asked(events)[0], { confirmed }));
    expect(responses(done)).toEqual([['c1', { booked: confirmed }]]);
    expect(done.filter(({ content }) => content).at(-1)?.content?.parts).toEqual([{ text: 'Well.' }]);
    expect(new Set([...events, ...done].map(({ invocationId }) => invocationId)).size).toBe(resumable ? 1 : 2);
    expect(model.requests[2]?.request.contents).toEqual([
      { role: 'user', parts: [{ text: 'book' }] },
      { role: 'model', parts: [{ functionCall: call(1) }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'pay', response: { booked: confirmed } } }] },
    ]);
    model.assertConsumed();
  },
);

test.each<[string, (context: ToolContext) => void]>([
  ['with endsTurn', (context) => context.requestConfirmation({ hint: 'Book?', endsTurn: true })],
  [
    'and sets skipSummarization',
    (context) => {
      context.requestConfirmation({ hint: 'Book?' });
      context.actions.skipSummarization = true;
    },
  ],
])('a tool that requests a confirmation itself %s ends the turn without a model call', async (_how, ask) => {
  const { run, model } = await setUp([{ calls: [call(1)] }], {
    requireConfirmation: false,
    execute: (_args, context: ToolContext) => {
      ask(context);
      return { status: 'asked' };
    },
  });
  expect(responses(await run('book'))).toEqual([['c1', { status: 'asked' }]]);
  model.assertConsumed();
});

test('a rejected call with requireConfirmation does not run, even if it no longer requires confirmation', async () => {
  let isAsking = true;
  const { send, ran } = await setUp([{ calls: [call(1)] }, 'I see.'], { requireConfirmation: () => isAsking });
  const [id] = asked(await send({ text: 'pay' }));
  isAsking = false;
  expect(responses(await send(answer(id, { confirmed: false })))).toEqual([
    ['c1', { error: 'This tool call is rejected.' }],
  ]);
  expect(ran).toEqual([]);
});
