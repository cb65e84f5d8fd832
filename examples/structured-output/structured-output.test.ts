import { InMemoryRunner, OutputSchemaError } from 'eventloom';
import { expect, test } from 'vitest';
import { OfflineModel } from '../stage/offline-model.ts';
import { playOffline } from '../stage/play-offline.ts';
import { readMail, rootAgent } from './agent.ts';
import { story } from './story.ts';

const ticket = { product: 'kettle', urgency: 'high', wishes: ['a new lid'] };

test('an answer that does not match goes back to the model, and the next one is in the state', async () => {
  const { stage, model } = await playOffline(story);
  const done = stage.events.filter(({ partial }) => partial !== true);
  expect(done.map(({ errorCode }) => errorCode)).toEqual(['OUTPUT_SCHEMA', undefined]);
  expect(model.requestsOf('mail_reader').map(({ config }) => config.temperature)).toEqual([0, 0]);
  expect((await stage.session())?.state).toEqual({ ticket });
});

test('readMail returns the ticket, and rejects if the model does not fill it in', async () => {
  const run = (replies: readonly string[]) => {
    const model = new OfflineModel({ mail_reader: replies });
    const runner = new InMemoryRunner({ agent: rootAgent, models: () => model, autoCreateSession: true });
    return readMail(runner, 'first', 'My kettle is broken.');
  };
  expect(await run([JSON.stringify(ticket)])).toEqual(ticket);
  await expect(run(['no', 'no', 'no', 'no'])).rejects.toBeInstanceOf(OutputSchemaError);
});
