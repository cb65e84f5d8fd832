import { expect, test } from 'vitest';
import { toolOf, callF } from './fixtures/called-tool.ts';
import { responseOf, scenario } from './fixtures/scenario.ts';

test('a tool that assigns to session.state gets an error that says what to write, and nothing changes', async () => {
  const { run, state } = await scenario({
    state: { kept: 1 },
    model: [callF, 'ok'],
    agent: { tools: [toolOf((_args, context) => Reflect.set(context.invocationContext.session.state, 'lost', 2))] },
  });
  expect(responseOf((await run())[1])).toEqual({
    error: 'session.state["lost"]: session.state can only be read; write context.state.set("lost", value)',
  });
  expect(await state()).toEqual({ kept: 1 });
});

test('a tool that sets endInvocation to true ends the run after its response', async () => {
  const { run, model } = await scenario({
    model: [callF],
    agent: { tools: [toolOf((_args, context) => void (context.invocationContext.endInvocation = true))] },
  });
  expect(await run()).toHaveLength(2);
  model.assertConsumed();
});
