import { BasePlugin, type CallbackContext, type Content, ModelError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { callF, toolOf } from './fixtures/called-tool.ts';
import { responsesOf, scenario, textOf } from './fixtures/scenario.ts';

// Agents.

test("content from beforeAgentCallback replaces the agent's answer, and later callbacks are skipped", async () => {
  const { model, run } = await scenario({
    agent: {
      beforeAgentCallback: [() => undefined, () => ({ parts: [{ text: 'closed' }] }), () => expect.unreachable()],
      afterAgentCallback: () => expect.unreachable(),
    },
  });
  const events = await run();
  expect(events).toMatchObject([{ author: 'bot', content: { role: 'model', parts: [{ text: 'closed' }] } }]);
  expect(model.calls).toBe(0);
});

test("a plugin's beforeAgentCallback runs before the agent's own", async () => {
  class Closing extends BasePlugin {
    override beforeAgentCallback(): Content {
      return { parts: [{ text: 'closed' }] };
    }
  }
  const { run } = await scenario({
    agent: { beforeAgentCallback: () => expect.unreachable() },
    plugins: [new Closing('closing')],
  });
  expect((await run()).map(textOf)).toEqual(['closed']);
});

test('content from afterAgentCallback is an additional event', async () => {
  const { run } = await scenario({
    model: ['answer'],
    agent: {
      afterAgentCallback: [() => ({ parts: [{ text: 'more' }] }), () => expect.unreachable()],
    },
  });
  expect((await run()).map(textOf)).toEqual(['answer', 'more']);
});

test('state changes of agent callbacks without content become separate events', async () => {
  const { run, session } = await scenario({
    model: ['answer'],
    agent: {
      beforeAgentCallback: ({ state }) => state.set('before', 1),
      afterAgentCallback: ({ state }) => state.set('after', state.get('before')),
    },
  });
  const events = await run();
  expect(events.map((event) => [textOf(event), event.actions.stateDelta])).toEqual([
    [undefined, { before: 1 }],
    ['answer', {}],
    [undefined, { after: 1 }],
  ]);
  expect((await session()).state).toEqual({ before: 1, after: 1 });
});

test('onAgentErrorCallback can answer for an agent that threw, and the run continues', async () => {
  const seen: unknown[] = [];
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run } = await scenario({
    model: [lost],
    agent: {
      onAgentErrorCallback: ({ error }) => {
        seen.push(error);
        return { parts: [{ text: 'Sorry.' }] };
      },
    },
  });
  const events = await run();
  expect(events.map((event) => event.errorCode ?? textOf(event))).toEqual(['UNAVAILABLE', 'Sorry.']);
  expect(seen).toEqual([lost]);
});

test('without an answer from onAgentErrorCallback the agent fails with one error event', async () => {
  const lost = new ModelError('lost', { errorCode: 'UNAVAILABLE' });
  const { run, session } = await scenario({ model: [lost], agent: { onAgentErrorCallback: () => undefined } });
  await expect(run()).rejects.toBe(lost);
  expect((await session()).events.map((event) => event.errorCode)).toEqual([undefined, 'UNAVAILABLE']);
});

test.each(['beforeModelCallback', 'afterModelCallback', 'beforeAgentCallback', 'afterAgentCallback'] as const)(
  'an error in %s fails the run with the code AGENT',
  async (callback) => {
    const { run, session } = await scenario({
      model: ['answer'],
      agent: {
        [callback]: () => {
          throw new RangeError('callback');
        },
        onModelErrorCallback: () => expect.unreachable(),
      },
    });
    await expect(run()).rejects.toMatchObject({ code: 'AGENT', message: 'agent "bot" failed: callback' });
    expect((await session()).events.at(-1)).toMatchObject({
      errorCode: 'AGENT',
      errorMessage: expect.stringContaining('agent "bot"'),
    });
  },
);

test('endInvocation in a callback makes its event the last one of the agent; its calls get a response', async () => {
  const end = ({ context }: { context: CallbackContext }) => void (context.invocationContext.endInvocation = true);
  const after = await scenario({
    model: [callF],
    agent: { tools: [toolOf(() => expect.unreachable())], afterModelCallback: end },
  });
  expect(responsesOf(await after.run())).toEqual([{ error: 'interrupted', message: expect.any(String) }]);

  const agent = await scenario({ agent: { beforeAgentCallback: (context) => end({ context }) } });
  expect(await agent.run()).toEqual([]);
});
