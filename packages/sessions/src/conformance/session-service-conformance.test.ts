import { type BaseSessionService, ConfigurationError } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { type MakeService, ManualPlatform, sessionServiceConformance } from './index.ts';
import { limitedService } from './mutants/limited-driver.ts';
import { sharedService } from './mutants/shared-driver.ts';

const makeService: MakeService<BaseSessionService> = async ({ platform }) => ({
  service: new InMemorySessionService({ platform }),
});

test('every case has its own id and a title that is a sentence', () => {
  const cases = sessionServiceConformance(makeService);
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  for (const { id, title } of cases) {
    expect(id).toMatch(/^[a-z]+\.[a-z-]+$/);
    expect(title).toMatch(/^[a-zA-Z0-9].*\.$/s);
  }
});

test('a declared deviation skips its case, and must name an existing case', () => {
  const all = sessionServiceConformance(makeService).map(({ id }) => id);
  const deviations = { 'queue.in-order': 'every request reaches another machine' };
  const some = sessionServiceConformance(makeService, { deviations }).map(({ id }) => id);
  expect(all.filter((id) => !some.includes(id))).toEqual(['queue.in-order']);
  const mistaken = () => sessionServiceConformance(makeService, { deviations: { 'queue.nothing': 'because' } });
  expect(mistaken).toThrow(ConfigurationError);
});

describe('a service with a size limit passes the rules about sizes', () => {
  const cases = sessionServiceConformance(limitedService()).filter(({ id }) => id.startsWith('size.'));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

describe('in-memory services that share their storage pass the rules about leases', () => {
  const cases = sessionServiceConformance(sharedService()).filter(({ id }) => /^(lease|queue)\./.test(id));
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('a case closes its service, also when it fails', async () => {
  let open = 0;
  const cases = sessionServiceConformance(async ({ platform }) => {
    const service = new InMemorySessionService({ platform });
    service.getSession = async () => undefined;
    open++;
    return { service, close: () => void open-- };
  });
  const results = await Promise.allSettled(cases.slice(0, 5).map(({ run }) => run()));
  expect(results.some(({ status }) => status === 'rejected')).toBe(true);
  expect(open).toBe(0);
});

test('a manual platform calls timers in the order of their time and only when its clock is advanced', () => {
  const platform = new ManualPlatform();
  const start = platform.now();
  const calls: string[] = [];
  platform.schedule(20, () => calls.push(`late at ${platform.now() - start}`));
  platform.schedule(10, () => {
    calls.push(`early at ${platform.now() - start}`);
    platform.schedule(5, () => calls.push(`chained at ${platform.now() - start}`));
  });
  platform.schedule(15, () => calls.push('called off'))();
  platform.advance(9);
  expect(calls).toEqual([]);
  platform.advance(91);
  expect(calls).toEqual(['early at 10', 'chained at 15', 'late at 20']);
  expect(platform.now() - start).toBe(100);
  expect(platform.newUuid()).not.toBe(platform.newUuid());
});
