import { type BaseSessionService, ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { type MakeService, sessionTransferConformance } from './index.ts';

/** Services that count how many of them are open. */
function counted(): { readonly make: MakeService<BaseSessionService>; open: number } {
  const services = {
    open: 0,
    make: async ({ platform }: Parameters<MakeService<BaseSessionService>>[0]) => {
      services.open++;
      return { service: new InMemorySessionService({ platform }), close: () => void services.open-- };
    },
  };
  return services;
}

test('a transfer closes both of its services, even if it fails or the second cannot be created', async () => {
  const services = counted();
  const broken: MakeService<BaseSessionService> = async (options) => {
    const made = await services.make(options);
    made.service.getSession = async () => undefined;
    return made;
  };
  const unavailable = () => Promise.reject(new TypeError('not there'));
  for (const makeTarget of [services.make, broken, unavailable]) {
    const results = await Promise.allSettled(
      sessionTransferConformance(services.make, makeTarget).map(({ run }) => run()),
    );
    const failed = results.filter(({ status }) => status === 'rejected');
    expect(failed.length > 0).toBe(makeTarget !== services.make);
    expect(services.open).toBe(0);
  }
});

test('a deviation skips its case, and must name an existing case', () => {
  const { make } = counted();
  const deviations = { 'transfer.large': 'large values do not fit' };
  const ids = sessionTransferConformance(make, make, { deviations }).map(({ id }) => id);
  expect(ids).not.toContain('transfer.large');
  const mistaken = () => sessionTransferConformance(make, make, { deviations: { 'transfer.nothing': 'because' } });
  expect(mistaken).toThrow(ConfigurationError);
});
