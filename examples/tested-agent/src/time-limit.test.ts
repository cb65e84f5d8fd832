import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, getFunctionResponses, InMemoryRunner, LlmAgent } from 'eventloom';
import { expect, test } from 'vitest';

test('the model hears after ten seconds that the warehouse does not answer', async () => {
  const platform = fixedPlatform();
  const warehouse = new Gate();
  const stock = new FunctionTool({
    name: 'stock',
    description: 'Counts the cups in stock.',
    timeoutMs: 10_000,
    execute: (_args, { abortSignal }) => warehouse.pass(abortSignal),
  });
  const model = new ScriptedModel([{ calls: [{ name: 'stock', args: {} }] }, 'I do not know.']);
  const agent = new LlmAgent({ name: 'desk', model, tools: [stock] });
  const runner = new InMemoryRunner({ agent, platform, autoCreateSession: true });
  const newMessage = 'How many cups have you got?';

  const running = runner.run({ userId: 'ann', sessionId: 's1', newMessage });
  await warehouse.reached;
  platform.advance(10_000);
  const [response] = (await running).flatMap(getFunctionResponses);
  expect(response?.response?.['error']).toContain('took longer than 10000 ms and was stopped');
  model.assertConsumed();
});
