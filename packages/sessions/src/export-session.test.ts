import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { sealEvent } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { exportSession } from './export-session.ts';
import { InMemorySessionDriver } from './in-memory-session-driver.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const LIGHT = 'x'.repeat(200);
/** A text larger than a page should be. */
const HEAVY = 'x'.repeat(5_000_000);

function several(count: number, text: string): string[] {
  return Array.from({ length: count }, () => text);
}

/** Returns the number of events that each page of an export reads, for a session whose events have these texts. */
async function pagesOf(texts: readonly string[], toContent = textContent): Promise<number[]> {
  const driver = new InMemorySessionDriver();
  const events = texts.map((text, index): Event => {
    const params = { id: String(index), invocationId: 'e-1', author: 'user', timestamp: 1 };
    return sealEvent(createEvent({ ...params, ...toContent(text) }));
  });
  driver.importSession({
    ...KEY,
    updatedAtMs: 0,
    initialState: [],
    state: [],
    sharedState: [],
    events,
    toolCalls: [],
    runs: [],
  });
  const pages: number[] = [];
  const readEvents = driver.readEvents.bind(driver);
  driver.readEvents = (key, window) => {
    const found = readEvents(key, window);
    pages.push(found?.events.length ?? 0);
    return found;
  };
  const ids: string[] = [];
  for await (const record of exportSession(driver, KEY)) if (record.type === 'event') ids.push(record.event.id);
  expect(ids).toEqual(events.map(({ id }) => id));
  return pages;
}

function textContent(text: string): EventParams {
  return { content: { role: 'user', parts: [{ text }] } };
}

test('small events are exported in large pages after the first one', async () => {
  const pages = await pagesOf(several(1000, LIGHT));
  expect(pages.slice(0, 5)).toEqual([8, 16, 32, 64, 64]);
  expect(pages.length).toBeLessThan(25);
});

test('large events are exported one at a time', async () => {
  expect(await pagesOf(several(12, HEAVY))).toEqual([8, 1, 1, 1, 1]);
  const mixed = await pagesOf([...several(300, LIGHT), ...several(150, HEAVY)]);
  expect(Math.max(...mixed)).toBe(64);
  expect(mixed.slice(-80)).toEqual(Array.from({ length: 80 }, () => 1));
});

test('keys count towards the size of a page', async () => {
  expect(await pagesOf(several(10, HEAVY), (text) => ({ customMetadata: { [text]: [1] } }))).toEqual([8, 1, 1]);
});

test('pages grow again after large events', async () => {
  const pages = await pagesOf([...several(12, HEAVY), ...several(600, LIGHT)]);
  expect(pages.slice(4, 12)).toEqual([1, 1, 2, 4, 8, 16, 32, 64]);
});

test('a session without events is exported without a read of events', async () => {
  expect(await pagesOf([])).toEqual([]);
});
