import type { SessionKey } from '@eventloom/core';

/** Returns a response whose body is the given JSON text. */
export function jsonTextResponse(text: string, headers: Readonly<Record<string, string>> = {}, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** Returns a response with a value as JSON. */
export function jsonResponse(value: unknown, headers?: Readonly<Record<string, string>>): Response {
  return jsonTextResponse(JSON.stringify(value), headers);
}

/** True if the client accepts JSON and not a stream of events. */
export function acceptsJson({ headers }: Request): boolean {
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  const names = (type: string): boolean => ranges.some((range) => isRange(range, type));
  return names('application/json') && !names('text/event-stream');
}

/** True for a media range with this type, unless its weight is 0. */
function isRange(range: string, type: string): boolean {
  const [name = '', ...parameters] = range.split(';');
  return name.trim() === type && !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter.trim()));
}

/** The response header with the cursor of the next page of a list. */
export const NEXT_CURSOR = 'Eventloom-Next-Cursor';

/** Returns the header with the cursor of the next page; none for the last page. */
export function cursorHeader(nextCursor: string | undefined): Record<string, string> {
  return nextCursor === undefined ? {} : { [NEXT_CURSOR]: nextCursor };
}

/** Returns the path of a session. */
export function sessionPath({ appName, userId, sessionId }: SessionKey): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}/sessions/${encodeURIComponent(sessionId)}`;
}

/** Returns the path at which a run is followed, asked for its state and cancelled. */
export function runPath(key: SessionKey, invocationId: string): string {
  return `${sessionPath(key)}/runs/${encodeURIComponent(invocationId)}`;
}
