import type { RunRecord } from '@eventloom/core';
import { ALL_EVENTS } from '../../session-view.ts';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import { cancelledRun } from '../../session-hold.ts';
import type { BeginOutcome, RunClaim, SessionDriver, StoredRun } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';
import { brokenClaim } from './open-run-mutants.ts';
import { brokenSharing } from './shared-driver.ts';

/** Creates a mutant that handles a refused run wrongly. */
function brokenRefusal(
  breaks: string,
  how: string,
  change: (driver: InMemorySessionDriver, claim: RunClaim, outcome: BeginOutcome) => BeginOutcome,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    beginRun: (claim) => change(driver, claim, driver.beginRun(claim)),
  }));
}

/** Creates a mutant that finds wrong run records. */
function brokenFind(
  breaks: string,
  how: string,
  change: (record: RunRecord | undefined, driver: InMemorySessionDriver) => RunRecord | undefined,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ findRun: (key, id) => change(driver.findRun(key, id), driver) }));
}

/** Ends the open run, if there is one, like a back end in which a run replaces another. */
function endOpenRun(driver: InMemorySessionDriver, claim: RunClaim): void {
  const [run] = driver.listOpenRuns({ appName: claim.appName, limit: 1, after: undefined });
  if (!run || run.invocationId === claim.invocationId || claim.continues) return;
  const { invocationId } = run;
  const outcome = driver.beginRun({ ...claim, invocationId, requestId: undefined, message: undefined });
  if (outcome.status === 'taken') driver.releaseLease(outcome.lease, false);
}

export const runRecordMutants: readonly SessionMutant[] = [
  brokenDriver('run.unfinished-refused', 'ends the open run for another run', (driver) => ({
    beginRun(claim) {
      endOpenRun(driver, claim);
      return driver.beginRun(claim);
    },
  })),
  brokenRefusal('run.unfinished-refused', 'keeps the lease of a refused run', (driver, claim, outcome) => {
    if (outcome.status === 'open') driver.claimLease(claim);
    return outcome;
  }),
  brokenRefusal('run.unfinished-refused', 'treats every open run as resumable', (_, __, outcome) =>
    outcome.status === 'open' ? { ...outcome, run: { ...outcome.run, resumable: true } } : outcome,
  ),
  brokenRefusal('run.unfinished-waits', 'waits for a run that was left open', (_, claim, outcome) =>
    outcome.status === 'open' && claim.ticket === undefined
      ? { status: 'busy', freeAtMs: claim.nowMs + 100_000 }
      : outcome,
  ),
  brokenDriver('run.unfinished-waits', 'refuses a waiting run at once', (driver) => ({
    beginRun(claim) {
      const [run] = driver.listOpenRuns({ appName: claim.appName, limit: 1, after: undefined });
      if (run && run.invocationId !== claim.invocationId) return { status: 'open', run };
      return driver.beginRun(claim);
    },
  })),
  brokenDriver('run.unfinished-interrupt', 'takes over the session before it refuses a run', (driver) => ({
    beginRun(claim) {
      if (claim.takeOver) driver.claimLease(claim);
      return driver.beginRun(claim);
    },
  })),
  brokenClaim('run.request-known', 'ignores request ids', (claim) => ({ ...claim, requestId: undefined })),
  brokenDriver('run.request-known', 'checks the request id only once the session is free', (driver) => ({
    beginRun(claim) {
      const { requestId } = claim;
      const known = requestId === undefined ? undefined : driver.findRun(claim, requestId);
      const heldUntilMs = known?.open?.heldUntilMs ?? 0;
      if (heldUntilMs > claim.nowMs && !claim.takeOver) return { status: 'busy', freeAtMs: heldUntilMs };
      return driver.beginRun(claim);
    },
  })),
  brokenRefusal('run.request-known', 'refuses another attempt of the same run', (driver, claim, outcome) => {
    if (outcome.status !== 'taken' || claim.requestId === undefined || outcome.session.lastSeq === 0) return outcome;
    driver.releaseLease(outcome.lease, false);
    return { status: 'known', invocationId: claim.invocationId };
  }),
  brokenDriver('run.request-of-session', 'shares request ids between sessions', (driver) => {
    const known = new Map<string, string>();
    return {
      beginRun(claim) {
        const { requestId, invocationId } = claim;
        const other = requestId === undefined ? undefined : known.get(requestId);
        if (other !== undefined && other !== invocationId) return { status: 'known', invocationId: other };
        if (requestId !== undefined) known.set(requestId, invocationId);
        return driver.beginRun(claim);
      },
    };
  }),
  brokenService('run.request-of-session', 'accepts an invalid request id', (service) => ({
    beginRun: ({ requestId, ...request }) =>
      service.beginRun({ ...request, requestId: requestId?.replaceAll('\0', '').slice(0, 256) || undefined }),
  })),
  brokenSharing('run.requests-at-once', 'checks the request id only before it waits', (driver) => {
    const asked = new Map<string, boolean>();
    return {
      beginRun(claim) {
        const { requestId, invocationId } = claim;
        const isNew = asked.get(invocationId) ?? (requestId === undefined || !driver.findRun(claim, requestId));
        asked.set(invocationId, isNew);
        return driver.beginRun(isNew ? { ...claim, requestId: undefined } : claim);
      },
    };
  }),
  brokenDriver(
    'run.request-cancelled',
    'returns the record of a cancelled request, and does not store it',
    (driver) => ({
      cancelRequest: (key, requestId) => driver.findRun(key, requestId) ?? cancelledRun(requestId, 1),
    }),
  ),
  brokenDriver('run.request-cancelled', 'begins a cancelled request', (driver) => ({
    beginRun(claim) {
      const { requestId } = claim;
      const isCancelled = requestId !== undefined && driver.findRun(claim, requestId)?.invocationId === requestId;
      return driver.beginRun(isCancelled ? { ...claim, requestId: undefined } : claim);
    },
  })),
  brokenDriver('run.request-begun-not-cancelled', 'cancels a request whose run began', (driver) => ({
    cancelRequest: (key, requestId) => driver.readSession(key, ALL_EVENTS) && cancelledRun(requestId, 1),
  })),
  brokenDriver('run.request-begun-not-cancelled', 'creates a session that does not exist', (driver) => ({
    cancelRequest(key, requestId) {
      const record = driver.cancelRequest(key, requestId);
      driver.createSession({ ...key, writes: [], nowMs: 0 });
      return record;
    },
  })),
  brokenRefusal('run.continues', 'sets wasOpen for every run', (_, __, outcome) =>
    outcome.status === 'taken' ? { ...outcome, wasOpen: true } : outcome,
  ),
  brokenRefusal('run.continues', 'never sets wasOpen', (_, __, outcome) =>
    outcome.status === 'taken' ? { ...outcome, wasOpen: false } : outcome,
  ),
  brokenClaim('run.continues', 'overwrites resumable of an open run', (claim) => ({
    ...claim,
    continues: false,
  })),
  brokenClaim('run.continues-unknown', 'begins an unknown run with continues', (claim) => ({
    ...claim,
    continues: false,
  })),
  brokenRefusal('run.continues-unknown', 'acquires the lease for an unknown run', (driver, claim, outcome) => {
    if (outcome.status === 'unknown') driver.claimLease(claim);
    return outcome;
  }),
  brokenDriver('run.continues-unknown', 'finds the run to continue by its request id', (driver) => ({
    beginRun(claim) {
      const invocationId = driver.findRun(claim, claim.invocationId)?.invocationId ?? claim.invocationId;
      return driver.beginRun({ ...claim, invocationId });
    },
  })),
  brokenFind('run.found', 'finds only open runs', (record) => (record?.open ? record : undefined)),
  brokenFind('run.found', 'reports every run as ended', (record) => {
    if (!record) return undefined;
    const { invocationId, firstSeq } = record;
    return { invocationId, firstSeq };
  }),
  brokenFind('run.found', 'returns 0 as firstSeq', (record) => record && { ...record, firstSeq: 1 }),
  brokenDriver('run.found', 'does not find runs by request id', (driver) => ({
    findRun(key, id) {
      const record = driver.findRun(key, id);
      return record?.invocationId === id ? record : undefined;
    },
  })),
  brokenDriver('run.bad-message-unknown', 'records a run before it checks the message', (driver) => ({
    beginRun(claim) {
      const { message: _, ...rest } = claim;
      const outcome = driver.beginRun({ ...rest, message: undefined });
      if (outcome.status !== 'taken') return outcome;
      driver.releaseLease(outcome.lease, false);
      return driver.beginRun(claim);
    },
  })),
  brokenDriver('run.forgotten', 'ignores forget', (driver) => ({
    releaseLease: (lease, keepRunOpen) => driver.releaseLease(lease, keepRunOpen),
  })),
  brokenDriver('run.forgotten', 'applies forget under a stale lease', (driver) => ({
    releaseLease(lease, keepRunOpen, changes) {
      const isLive = driver.releaseLease(lease, keepRunOpen, changes);
      for (let { epoch } = lease; epoch < lease.epoch + 9; epoch++)
        driver.releaseLease({ ...lease, epoch }, true, changes);
      return isLive;
    },
  })),
  brokenDriver('run.end-recorded', 'does not record how a run ended', (driver) => ({
    releaseLease: (lease, keepRunOpen, changes) =>
      driver.releaseLease(lease, keepRunOpen, { ...changes, outcome: undefined }),
  })),
  brokenDriver('run.end-recorded', 'does not record how a run ended that has a last event', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, outcome: undefined }),
  })),
  brokenDriver('run.end-recorded', 'records the end before it appends the last event', (driver) => {
    const last = new Map<string, number>();
    return {
      endRun(end) {
        const run = String(end.lease.invocationId);
        if (!last.has(run)) last.set(run, driver.readEvents(end, ALL_EVENTS)?.lastSeq ?? 0);
        return driver.endRun(end);
      },
      findRun(key, id) {
        const record = driver.findRun(key, id);
        const lastSeq = record && last.get(record.invocationId);
        return record?.end && lastSeq !== undefined ? { ...record, end: { ...record.end, lastSeq } } : record;
      },
    };
  }),
  brokenDriver('run.end-recorded', 'records an outcome for a run left open', (driver) => {
    const ends = new Map<string, RunRecord['end']>();
    return {
      releaseLease(lease, keepRunOpen, changes) {
        if (keepRunOpen && changes?.outcome) ends.set(String(lease.invocationId), { ...changes.outcome, lastSeq: 0 });
        return driver.releaseLease(lease, keepRunOpen, changes);
      },
      findRun(key, id) {
        const record = driver.findRun(key, id);
        const end = record && !record.open ? ends.get(record.invocationId) : undefined;
        return record && end ? { ...record, end } : record;
      },
    };
  }),
  brokenFind('run.end-recorded', 'omits the code of the outcome', (record) => {
    if (!record?.end) return record;
    const { lastSeq, state } = record.end;
    return { ...record, end: { lastSeq, state } };
  }),
  brokenDriver('run.end-kept', 'drops the previous outcome when a run continues', (driver) => {
    const continued = new Set<string>();
    return {
      beginRun(claim) {
        if (claim.continues) continued.add(claim.invocationId);
        return driver.beginRun(claim);
      },
      findRun(key, id) {
        const record = driver.findRun(key, id);
        if (!record || !continued.has(record.invocationId)) return record;
        const { end: _, ...rest } = record;
        return rest;
      },
    };
  }),
  brokenDriver('run.end-kept', 'returns no previous outcome of an open run', (driver) => ({
    findRun(key, id) {
      const record = driver.findRun(key, id);
      if (!record?.open) return record;
      const { end: _, ...rest } = record;
      return rest;
    },
  })),
  brokenDriver('run.end-kept', 'records the outcome under a stale lease', (driver) => ({
    releaseLease(lease, keepRunOpen, changes) {
      const isLive = driver.releaseLease(lease, keepRunOpen, changes);
      for (let { epoch } = lease; changes?.outcome && epoch < lease.epoch + 9; epoch++)
        driver.releaseLease({ ...lease, epoch }, keepRunOpen, changes);
      return isLive;
    },
  })),
  brokenDriver('run.gone-with-session', 'keeps the runs of deleted sessions', (driver) => {
    const kept = new Map<string, RunRecord>();
    return {
      deleteSession(key) {
        for (const id of ['e-1', 'r-1']) {
          const record = driver.findRun(key, id);
          if (record) kept.set(id, record);
        }
        driver.deleteSession(key);
      },
      findRun: (key, id) => driver.findRun(key, id) ?? kept.get(id),
    } satisfies Partial<SessionDriver>;
  }),
  brokenImport('run.imported', 'does not import runs', () => []),
  brokenImport('run.imported', 'does not import request ids', (runs) =>
    runs.filter(({ id, invocationId }) => id === invocationId),
  ),
  brokenImport('run.imported', 'numbers runs instead of events', (runs) =>
    runs.map((run, index) => ({ ...run, firstSeq: index + 1 })),
  ),
];

/** Creates a mutant that imports wrong runs. */
function brokenImport(breaks: string, how: string, change: (runs: readonly StoredRun[]) => StoredRun[]): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    importSession: (session) => driver.importSession({ ...session, runs: change(session.runs) }),
  }));
}
