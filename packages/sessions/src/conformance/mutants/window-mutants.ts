import { InvalidRequestError } from '@eventloom/core';
import type { EventWindow } from '../../session-driver.ts';
import { brokenEvents } from './broken-events.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const windowMutants: readonly SessionMutant[] = [
  brokenWindow('window.num-recent', 'treats 0 as no limit', (window) => ({
    ...window,
    limit: window.limit || undefined,
  })),
  brokenEvents('window.num-recent', 'returns the oldest events', (events, { limit }, all) =>
    all.slice(0, limit ?? events.length),
  ),
  brokenEvents('window.after-timestamp', 'excludes events at the given time', (events, { afterTimestamp }) =>
    events.filter(({ timestamp }) => timestamp !== afterTimestamp),
  ),
  brokenEvents('window.equal-timestamps', 'reverses events with equal times', (events) =>
    events.toReversed().toSorted((a, b) => a.timestamp - b.timestamp),
  ),
  brokenEvents('window.unordered-timestamps', 'assumes that times are in order', (events, { afterTimestamp }, all) => {
    if (afterTimestamp === undefined) return events;
    const before = all.findLastIndex(({ timestamp }) => timestamp < afterTimestamp);
    return events.filter((event) => all.indexOf(event) > before);
  }),
  brokenEvents('window.unordered-timestamps', 'sorts events by time', (events) =>
    events.toSorted((a, b) => a.timestamp - b.timestamp),
  ),
  brokenWindow('window.after-seq', 'includes the event with the given number', (window) => ({
    ...window,
    afterSeq: Math.max(0, window.afterSeq - 1),
  })),
  brokenWindow('window.before-seq', 'includes the event with the given number', (window) => ({
    ...window,
    beforeSeq: window.beforeSeq === undefined ? undefined : window.beforeSeq + 1,
  })),
  brokenEvents('window.before-seq', 'applies numRecentEvents before the sequence number', (_, window, all) =>
    all
      .slice(window.afterSeq)
      .slice(-(window.limit ?? Infinity))
      .filter((event) => all.indexOf(event) + 1 < (window.beforeSeq ?? Infinity)),
  ),
  brokenWindow('window.large-numbers', 'truncates sequence numbers to 32 bits', (window) => ({
    ...window,
    afterSeq: window.afterSeq | 0,
  })),
  brokenService('window.large-numbers', 'refuses sequence numbers over 32 bits', (service) => ({
    getSession(request) {
      if ((request.config?.beforeSeq ?? 0) > 0xffff_ffff) throw new InvalidRequestError('beforeSeq: is too large');
      return service.getSession(request);
    },
  })),
  brokenEvents(
    'window.combined',
    'applies numRecentEvents before the time',
    (_, { afterTimestamp, afterSeq, limit }, all) =>
      all
        .slice(Math.max(afterSeq, all.length - (limit ?? all.length)))
        .filter(({ timestamp }) => timestamp > (afterTimestamp ?? 0)),
  ),
  brokenEvents('window.combined', 'applies one condition only', (events, window, all) =>
    window.limit === undefined ? events : all.slice(all.length - window.limit),
  ),
  brokenDriver('window.rest-is-whole', 'returns the size of the window as lastSeq', (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, lastSeq: stored.events.length };
    },
  })),
  brokenService('window.bad-values-refused', 'accepts an invalid window', (service) => ({
    getSession: (request) =>
      service.getSession(request).catch((error: unknown) => {
        if (InvalidRequestError.isInstance(error)) return service.getSession({ ...request, config: undefined });
        throw error;
      }),
  })),
];

function brokenWindow(breaks: string, how: string, change: (window: EventWindow) => EventWindow): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    readSession: (key, window) => driver.readSession(key, change(window)),
  }));
}
