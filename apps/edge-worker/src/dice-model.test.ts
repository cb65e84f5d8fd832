import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { createAgent } from './agent.ts';
import { DiceModel } from './dice-model.ts';

test('the model without a key rolls the die in every turn', async () => {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'dice', agent: createAgent(new DiceModel()), sessionService });
  const { id: sessionId } = await sessionService.createSession({ appName: 'dice', userId: 'ann' });
  for (const text of ['roll', 'once more']) {
    const events = await runner.run({ userId: 'ann', sessionId, newMessage: { role: 'user', parts: [{ text }] } });
    const shown = events.flatMap(({ content }) => content?.parts?.[0]?.functionResponse?.response?.['shown']);
    expect(shown).toContainEqual(expect.any(Number));
    expect(events.at(-1)?.content?.parts).toEqual([{ text: 'There it is.' }]);
  }
});
