import { checkName, type ListOpenRunsRequest, type ListOpenRunsResponse } from '@eventloom/core';
import { decodeCursor, encodeCursor } from './cursor-text.ts';
import { badCursorError, toPageSize } from './list-page.ts';
import type { OpenRunPosition } from './open-run-page.ts';
import type { SessionDriver } from './session-driver.ts';

/** As `BaseSessionService.listOpenRuns`. */
export async function listOpenRuns(driver: SessionDriver, request: ListOpenRunsRequest): Promise<ListOpenRunsResponse> {
  const { appName, limit, cursor } = request;
  checkName('appName', appName);
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readPosition(cursor);
  const found = await driver.listOpenRuns({ appName, limit: size + 1, after });
  const runs = found.slice(0, size);
  const last = runs.at(-1);
  return found.length > size && last ? { runs, nextCursor: encodeCursor([last.userId, last.sessionId]) } : { runs };
}

function readPosition(cursor: string): OpenRunPosition {
  const [userId, sessionId, more] = decodeCursor(cursor) ?? [];
  if (typeof userId === 'string' && typeof sessionId === 'string' && more === undefined) return { userId, sessionId };
  throw badCursorError();
}
