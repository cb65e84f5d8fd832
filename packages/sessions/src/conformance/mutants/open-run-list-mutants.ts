import type { OpenRun } from '@eventloom/core';
import type { LeaseClaim } from '../../lease-claim.ts';
import type { OpenRunPage } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const openRunListMutants: readonly SessionMutant[] = [
  brokenRuns('open.held-until', 'omits heldUntilMs', (runs) => runs.map((run) => ({ ...run, heldUntilMs: 0 }))),
  brokenDriver('open.held-until', 'ignores renewals in heldUntilMs', (driver) => {
    const until = new Map<string, number>();
    const note = (claim: LeaseClaim) => until.set(claim.sessionId, claim.nowMs + claim.ttlMs);
    return {
      claimLease(claim) {
        note(claim);
        return driver.claimLease(claim);
      },
      beginRun(claim) {
        note(claim);
        return driver.beginRun(claim);
      },
      listOpenRuns: (page) =>
        driver.listOpenRuns(page).map((run) => ({ ...run, heldUntilMs: until.get(run.sessionId) ?? 0 })),
    };
  }),
  brokenDriver('open.held-until', 'ignores leases of other callers in heldUntilMs', (driver) => {
    let isForRun = false;
    return {
      claimLease(claim) {
        isForRun = false;
        return driver.claimLease(claim);
      },
      beginRun(claim) {
        isForRun = true;
        return driver.beginRun(claim);
      },
      listOpenRuns: (page) =>
        driver.listOpenRuns(page).map((run) => ({ ...run, heldUntilMs: isForRun ? run.heldUntilMs : 0 })),
    };
  }),
  brokenDriver('open.of-app', 'lists the open runs of every app', (driver) => {
    const apps = new Set<string>();
    return {
      createSession(creation) {
        apps.add(creation.appName);
        return driver.createSession(creation);
      },
      listOpenRuns: (page) => [...apps].flatMap((appName) => driver.listOpenRuns({ ...page, appName })),
    };
  }),
  brokenRuns('open.of-app', 'lists the open runs of one user', (runs) =>
    runs.filter(({ userId }) => userId === runs[0]?.userId),
  ),
  brokenRuns('open.order', 'compares UTF-16 units', (runs) =>
    runs.toSorted((one, other) => byUnits(one.userId, other.userId) || byUnits(one.sessionId, other.sessionId)),
  ),
  brokenRuns('open.order', 'lists by session', (runs) =>
    runs.toSorted((one, other) => byUnits(one.sessionId, other.sessionId)),
  ),
  brokenRuns('open.order', 'compares ids by locale', (runs) =>
    runs.toSorted((one, other) => one.userId.localeCompare(other.userId, 'en', { numeric: true })),
  ),
  brokenPage('open.paging', 'leaves the session out of the cursor', (run, after) => run.userId > after.userId),
  brokenPage(
    'open.paging',
    'repeats the last entry of the previous page',
    (run, after) => `${run.userId} ${run.sessionId}` >= `${after.userId} ${after.sessionId}`,
  ),
  brokenService('open.paging', 'returns a cursor with the last page', (service) => ({
    async listOpenRuns(request) {
      const page = await service.listOpenRuns(request);
      return page.runs.length === request.limit ? { nextCursor: 'WyJ4IiwieSJd', ...page } : page;
    },
  })),
  brokenService('open.default-limit', 'returns 100 by default', (service) => ({
    listOpenRuns: (request) => service.listOpenRuns({ ...request, limit: request.limit ?? 100 }),
  })),
  brokenService('open.stable-under-changes', 'uses page numbers as cursors', (service) => ({
    async listOpenRuns({ cursor = '0', limit = 1000, ...request }) {
      const { runs } = await service.listOpenRuns(request);
      const end = Number(cursor) + limit;
      const page = runs.slice(Number(cursor), end);
      return end < runs.length ? { runs: page, nextCursor: String(end) } : { runs: page };
    },
  })),
  brokenService('open.bad-cursor-refused', 'starts from the beginning for an invalid cursor', (service) => ({
    listOpenRuns: (request) =>
      service.listOpenRuns(request).catch(() => service.listOpenRuns({ ...request, cursor: undefined })),
  })),
  brokenService('open.bad-limit-refused', 'accepts an invalid limit', (service) => ({
    listOpenRuns: ({ limit = 1000, ...request }) =>
      service.listOpenRuns({ ...request, limit: Math.min(1000, Math.max(1, Math.ceil(limit) || 1)) }),
  })),
];

/** Creates a mutant that lists wrong open runs. */
function brokenRuns(breaks: string, how: string, change: (runs: OpenRun[]) => OpenRun[]): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ listOpenRuns: (page) => change(driver.listOpenRuns(page)) }));
}

/** Creates a mutant with its own rule for the runs that come after a page. */
function brokenPage(
  breaks: string,
  how: string,
  isAfter: (run: OpenRun, after: NonNullable<OpenRunPage['after']>) => boolean,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    listOpenRuns: ({ after, limit, ...page }) =>
      driver
        .listOpenRuns({ ...page, after: undefined, limit: 2000 })
        .filter((run) => !after || isAfter(run, after))
        .slice(0, limit),
  }));
}

function byUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
