import { checkName, type ListSessionsRequest, type ListSessionsResponse } from '@eventloom/core';
import { decodeCursor, encodeCursor } from './cursor-text.ts';
import { badCursorError, toPageSize } from './list-page.ts';
import type { SessionDriver, SessionPosition } from './session-driver.ts';
import { toSession } from './session-view.ts';

/** As `BaseSessionService.listSessions`. */
export async function listSessions(driver: SessionDriver, request: ListSessionsRequest): Promise<ListSessionsResponse> {
  const { appName, userId, limit, cursor } = request;
  checkName('appName', appName);
  if (userId !== undefined) checkName('userId', userId);
  const size = toPageSize(limit);
  const after = cursor === undefined ? undefined : readPosition(cursor);
  const found = await driver.listSessions({ appName, userId, limit: size + 1, after });
  const page = found.slice(0, size);
  const sessions = page.map(toSession);
  const last = page.at(-1);
  return last && (found.length > size || last.isCut) ? { sessions, nextCursor: writePosition(last) } : { sessions };
}

function writePosition({ updatedAtMs, sessionId, userId }: SessionPosition): string {
  return encodeCursor([updatedAtMs, sessionId, userId]);
}

function readPosition(cursor: string): SessionPosition {
  const [updatedAtMs, sessionId, userId, more] = decodeCursor(cursor) ?? [];
  const isWhole = typeof sessionId === 'string' && typeof userId === 'string' && more === undefined;
  if (isWhole && typeof updatedAtMs === 'number') return { updatedAtMs, sessionId, userId };
  throw badCursorError();
}
