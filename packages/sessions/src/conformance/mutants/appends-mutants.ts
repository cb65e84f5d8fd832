import type { AppendOutcome, EventAppend } from '../../session-driver.ts';
import { LimitedDriver, limitedService, MAX_BYTES } from './limited-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const appendsMutants: readonly SessionMutant[] = [
  brokenDriver('appends.like-each', 'appends several events in reverse order', (driver) => ({
    appendEvents: (appends) => driver.appendEvents(appends.toReversed()).toReversed(),
  })),
  brokenService('appends.like-each', 'does not update the session object', (service) => ({
    appendEvents: (request) => service.appendEvents({ ...request, session: structuredClone(request.session) }),
  })),
  brokenDriver('appends.one-moment', 'appends several events in separate transactions', (driver) => ({
    async appendEvents(appends) {
      const outcomes: AppendOutcome[] = [];
      for (const append of appends) {
        outcomes.push(driver.appendEvent(append));
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      return outcomes;
    },
  })),
  {
    breaks: 'appends.all-or-none',
    how: 'appends the events before a too large one',
    make: limitedService(
      () =>
        new (class extends LimitedDriver {
          override appendEvents(appends: readonly EventAppend[]): AppendOutcome[] {
            return appends.map((append) => this.appendEvent(append));
          }
        })(MAX_BYTES),
    ),
  },
  brokenDriver('appends.all-or-none', 'appends the events before one with too much state', (driver) => ({
    appendEvents: (appends) => appends.map((append) => driver.appendEvent(append)),
  })),
  brokenDriver('appends.all-or-none', 'appends under a lost lease', (driver) => ({
    appendEvents(appends) {
      driver.appendEvents(appends.map((append) => ({ ...append, lease: undefined, nowMs: append.nowMs * 2 })));
      return driver.appendEvents(appends);
    },
  })),
  brokenDriver('appends.repeated', 'stores duplicates under other ids', (driver) => ({
    appendEvents: (appends) =>
      appends.map((append) => {
        const outcome = driver.appendEvent(append);
        if (outcome.status !== 'duplicate') return outcome;
        return driver.appendEvent({ ...append, event: { ...append.event, id: `${append.event.id} again` } });
      }),
  })),
];
