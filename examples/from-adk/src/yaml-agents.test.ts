import { ScriptedModel } from '@eventloom/testing';
import { InMemoryRunner } from 'eventloom';
import { expect, test } from 'vitest';
import { createTutors } from './yaml-agents.ts';

test('the agents of the files transfer, call the tool of the program, and run its callback', async () => {
  let calls = 0;
  const agent = createTutors(() => void (calls += 1));
  const model = new ScriptedModel([
    { calls: [{ name: 'transfer_to_agent', args: { agent_name: 'math_tutor' } }] },
    { calls: [{ name: 'multiply', args: { a: 6, b: 7 } }] },
    { text: 'It is 42.' },
  ]);
  const runner = new InMemoryRunner({ agent, models: () => model, autoCreateSession: true });
  const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: '6 times 7?' }] } });
  expect(events.at(-1)).toMatchObject({ author: 'math_tutor', content: { parts: [{ text: 'It is 42.' }] } });
  expect(JSON.stringify(events)).toContain('{"result":42}');
  expect(calls).toBe(1);
});
