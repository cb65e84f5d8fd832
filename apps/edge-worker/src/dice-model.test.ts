import { InMemoryArtifactService } from '@eventloom/artifacts';
import type { Event, Part } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { beforeEach, expect, test } from 'vitest';
import { createAgent, PROMPTS } from './agent.ts';
import { DiceModel } from './dice-model.ts';

let say: (part: Part) => Promise<Event[]>;
beforeEach(async () => {
  const sessionService = new InMemorySessionService();
  const agent = createAgent(new DiceModel());
  const runner = new Runner({ appName: 'dice', agent, sessionService, artifactService: new InMemoryArtifactService() });
  const { id: sessionId } = await sessionService.createSession({ appName: 'dice', userId: 'ann' });
  say = async (part) => runner.run({ userId: 'ann', sessionId, newMessage: { role: 'user', parts: [part] } });
});

const callsIn = (events: readonly Event[]) =>
  events.flatMap(({ content }) => content?.parts?.flatMap(({ functionCall }) => functionCall ?? []) ?? []);
const lastText = (events: readonly Event[]) => events.at(-1)?.content?.parts?.at(-1)?.text;

test('the model without a key rolls the die for every message that requests no other tool', async () => {
  for (const text of ['roll', 'hello']) {
    const events = await say({ text });
    expect(callsIn(events)).toMatchObject([{ name: 'roll_die' }]);
    expect(lastText(events)).toMatch(/^The die shows \*\*[1-6]\*\*\./);
  }
});

test('the prompts show a tool, a transfer with an approval, and a file', async () => {
  const [roll, pay, save] = PROMPTS;
  expect(callsIn(await say({ text: roll }))).toMatchObject([{ name: 'roll_die' }]);
  const asked = callsIn(await say({ text: pay }));
  expect(asked).toMatchObject([
    { name: 'transfer_to_agent', args: { agent_name: 'cashier' } },
    { name: 'pay_out' },
    { name: 'adk_request_confirmation' },
  ]);
  const { id = '', name = '' } = asked.at(-1) ?? {};
  const paid = await say({ functionResponse: { id, name, response: { confirmed: true } } });
  expect(lastText(paid)).toMatch(/^[1-6] euros are paid out\.$/);
  const saved = await say({ text: save });
  expect(callsIn(saved)).toMatchObject([
    { name: 'transfer_to_agent', args: { agent_name: 'dice' } },
    { name: 'save_rolls' },
  ]);
  expect(lastText(saved)).toBe('All rolls are in `rolls.txt`, version 0.');
});
