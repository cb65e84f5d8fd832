import type { BeginRunRequest, ListOpenRunsRequest, OpenRun, SessionKey, SessionLease } from '@eventloom/core';
import { KEY } from './samples.ts';
import type { Subject } from './session-rule.ts';

/** Begins a resumable run; rejects immediately if the session is busy. */
export async function openRun(
  { service }: Subject,
  invocationId: string,
  request: Partial<BeginRunRequest> = {},
): Promise<SessionLease> {
  return (await service.beginRun({ ...KEY, onBusy: 'reject', resumable: true, ...request, invocationId })).lease;
}

/** Creates a session, and leaves an open run in it. */
export async function leaveRun(subject: Subject, key: SessionKey, invocationId: string): Promise<void> {
  await subject.service.createSession(key);
  const lease = await openRun(subject, invocationId, key);
  await subject.service.releaseLease(lease, { keepRunOpen: true });
}

/** Returns all open runs of the app, in pages. */
export async function openRunPages(
  { service, expect }: Subject,
  request: Partial<ListOpenRunsRequest> = {},
): Promise<OpenRun[][]> {
  const pages: OpenRun[][] = [];
  let cursor: string | undefined;
  do {
    const page = await service.listOpenRuns({ appName: KEY.appName, ...request, cursor });
    pages.push(page.runs);
    cursor = page.nextCursor;
    expect.true('the listing ends', pages.length < 100);
  } while (cursor !== undefined);
  return pages;
}

/** Returns the open runs of the app as `run: attempts`. */
export async function openRunsOf(subject: Subject): Promise<string[]> {
  const runs = (await openRunPages(subject)).flat();
  return runs.map(({ invocationId, attempts }) => `${invocationId}: ${attempts}`);
}
