import { createEvent, type Event } from '@eventloom/core';
import { readNewest } from '@eventloom/core/internal';
import { InMemorySessionService } from '@eventloom/sessions';
import { userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { CountingService } from './fixtures/counting-service.ts';
import { KEY } from './fixtures/scenario.ts';

/** A session of 1,000 invocations with one event each, `e-1` to `e-1000`, followed by the given events. */
async function setUp(then: readonly Event[]) {
  const service = new CountingService();
  const session = await service.createSession(KEY);
  for (let turn = 1; turn <= 1000; turn++) {
    await service.appendEvent({ session, event: userEvent(`${turn}`, { invocationId: `e-${turn}` }) });
  }
  for (const event of then) await service.appendEvent({ session, event });
  return service;
}

function rewindTo(rewindBeforeInvocationId: string, invocationId: string): Event {
  return createEvent({ author: 'user', invocationId, actions: { rewindBeforeInvocationId } });
}

function said(invocationId: string): Event {
  return userEvent(invocationId, { invocationId });
}

function idsOf(events: readonly Event[]): string[] {
  return events.map(({ invocationId }) => invocationId);
}

test('a rewind to an old event is not followed if later events are enough', async () => {
  const service = await setUp([rewindTo('e-5', 'r'), said('new')]);
  const events = await readNewest(service, KEY, (read) => idsOf(read).includes('new'));
  expect(idsOf(events)).toEqual(['r', 'new']);
  expect(service.read).toBe(32);
});

test('events undone by a rewind do not count as enough', async () => {
  const service = await setUp([rewindTo('e-5', 'r'), said('new')]);
  const events = await readNewest(service, KEY, (read) => idsOf(read).some((id) => id === 'e-1000' || id === 'e-4'));
  expect(idsOf(events).slice(0, 4)).toEqual(['e-1', 'e-2', 'e-3', 'e-4']);
});

test('a rewind that was itself rewound hides nothing', async () => {
  const service = await setUp([rewindTo('e-5', 'r'), said('new'), rewindTo('r', 'again')]);
  const events = await readNewest(service, KEY, (read) => idsOf(read).includes('e-1000'));
  expect(idsOf(events).slice(-4)).toEqual(['e-1000', 'r', 'new', 'again']);
  expect(service.read).toBe(32);
});

test('a search through all events checks each event a bounded number of times', async () => {
  const service = new InMemorySessionService();
  const session = await service.createSession(KEY);
  for (let turn = 1; turn <= 9000; turn++) await service.appendEvent({ session, event: said(`e-${turn}`) });
  let asked = 0;
  const events = await readNewest(service, KEY, (read) => {
    asked += read.length;
    return false;
  });
  expect(events.map(({ invocationId }) => invocationId)).toEqual(
    Array.from({ length: 9000 }, (_, at) => `e-${at + 1}`),
  );
  expect(asked).toBeLessThan(2 * events.length);
});
