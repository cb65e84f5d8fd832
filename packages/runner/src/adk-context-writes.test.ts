import { expect, test } from 'vitest';
import { toolOf, callF } from './fixtures/called-tool.ts';
import { scenario } from './fixtures/scenario.ts';

test('a tool that sets endInvocation to true ends the run after its response', async () => {
  const { run, model } = await scenario({
    model: [callF],
    agent: { tools: [toolOf((_args, context) => void (context.invocationContext.endInvocation = true))] },
  });
  expect(await run()).toHaveLength(2);
  model.assertConsumed();
});
