import { createEvent, type Event } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { memoryServiceConformance } from './conformance/index.ts';
import { InMemoryMemoryService } from './in-memory-memory-service.ts';

describe('InMemoryMemoryService keeps the contract', () => {
  const cases = memoryServiceConformance(async () => ({ service: new InMemoryMemoryService() }));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('the error for a value that is not an event, or whose time is not a number, names what was given', async () => {
  const add = (event: object | string) =>
    new InMemoryMemoryService().addEventsToMemory({
      appName: 'app',
      userId: 'ann',
      sessionId: 's',
      events: [event as Event],
    });
  await expect(add('hello')).rejects.toThrow(
    'events.0: expected an event, such as those of session.events, got a string',
  );
  await expect(add({ ...createEvent(), timestamp: 'now' })).rejects.toThrow('up to the year 9999, got a string');
  await expect(add({ ...createEvent(), timestamp: -1 })).rejects.toThrow('up to the year 9999, got -1');
});
