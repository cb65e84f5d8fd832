import { EventloomClient } from '@eventloom/client';
import { createServer } from '@eventloom/server';
import { ScriptedModel } from '@eventloom/testing';
import { type Event, InMemoryRunner } from 'eventloom';
import { expect, test } from 'vitest';
import { agent } from './agent.ts';
import { textsOf } from './converse.ts';

test('a client reads the replies of the server, each from the whole conversation', async () => {
  // A function in place of the steps answers any number of calls.
  const model = new ScriptedModel(({ contents }) => `I read ${contents.length} messages.`);
  const runner = new InMemoryRunner({ appName: 'shop', agent, models: () => model, autoCreateSession: true });
  const server = createServer({ runners: [runner] });
  // Nothing listens on a port: requests go to the server's own fetch.
  const client = new EventloomClient({
    baseUrl: 'http://localhost',
    fetch: async (url, init) => server.fetch(new Request(url, init)),
  });
  const session = client.session({ appName: 'shop', userId: 'ann', sessionId: 's1' });

  const events: Event[] = [];
  for (const text of ['Hello', 'And?']) for await (const event of session.run(text)) events.push(event);
  expect(textsOf(events)).toEqual(['I read 1 messages.', 'I read 3 messages.']);
  await server.drain(0);
});
