import { getFunctionCalls, type ToolRequest } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, scenario } from './fixtures/scenario.ts';

test('a tool that runs again reads its own requests with their answers', async () => {
  const seen: (readonly ToolRequest[])[] = [];
  const order = new FunctionTool({
    name: 'order',
    description: '',
    execute: (_, context) => {
      seen.push(context.requests);
      if (!context.toolConfirmation) return context.requestConfirmation({ hint: 'Sure?', payload: { euros: 5 } });
      if (context.getInput('size') === undefined) return context.requestInput({ key: 'size', message: 'Which size?' });
      return { ordered: true };
    },
  });
  const { runner, run } = await scenario({
    model: [{ calls: [call('order', {}, 'c1')] }, 'Asked.', 'Asked.', 'Done.'],
    agent: { tools: [order] },
  });
  let events = await run();
  for (const response of [{ confirmed: true, payload: { euros: 4 } }, { result: 'M' }]) {
    const asked = events.flatMap(getFunctionCalls).find(({ name }) => name?.startsWith('adk_request_'));
    const functionResponse = { id: asked?.id ?? '', name: asked?.name ?? '', response };
    events = await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ functionResponse }] } });
  }
  const confirmation = { kind: 'confirmation', hint: 'Sure?', payload: { euros: 5 } };
  expect(seen).toEqual([[], [confirmation], [confirmation, { kind: 'input', key: 'size', message: 'Which size?' }]]);
});
