import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { InMemorySessionService } from 'eventloom';
import { expect, test } from 'vitest';
import { converse, textsOf } from './converse.ts';

test('a run whose process was killed is finished by the next process, and pays once', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const killed = new Gate();
  const refund = { calls: [{ name: 'refund', args: { order: 'A-1', euros: 20 } }] };
  const model = new ScriptedModel([refund, { text: 'Never said.', gate: killed }]);
  // A killed process has no timers, so it does not renew the lease of the session.
  const first = converse(model, { sessionService, platform: { ...platform, schedule: () => () => undefined } });
  void first.say('My cup is broken.'); // Waits at the gate, which nothing opens.
  await killed.reached;
  platform.advance(15_000);

  const second = converse(new ScriptedModel(['You have your 20 EUR back.']), { sessionService, platform });
  const [message] = (await second.session())?.events ?? [];
  const events = await second.resume(message?.invocationId ?? '');
  expect(textsOf(events)).toEqual(['You have your 20 EUR back.']);
});
