import type { BeginRunRequest, ListOpenRunsRequest, OpenRun, SessionKey, SessionLease } from '@eventloom/core';
import { KEY } from './samples.ts';
import type { Subject } from './session-rule.ts';

/** Begins a run that can be resumed, at once or not at all. */
export async function openRun(
  { service }: Subject,
  invocationId: string,
  request: Partial<BeginRunRequest> = {},
): Promise<SessionLease> {
  return (await service.beginRun({ ...KEY, onBusy: 'reject', resumable: true, ...request, invocationId })).lease;
}

/** Opens a run of its own in a session made for it, and leaves it open. */
export async function leaveRun(subject: Subject, key: SessionKey, invocationId: string): Promise<void> {
  await subject.service.createSession(key);
  const lease = await openRun(subject, invocationId, key);
  await subject.service.releaseLease(lease, { leaveOpen: true });
}

/** All of the app's open runs in pages. */
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

/** The app's open runs, as `run: attempts`. */
export async function openRunsOf(subject: Subject): Promise<string[]> {
  const runs = (await openRunPages(subject)).flat();
  return runs.map(({ invocationId, attempts }) => `${invocationId}: ${attempts}`);
}
