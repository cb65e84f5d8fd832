import type { ArtifactKey, Part, SessionKey } from '@eventloom/core';

/** The session that most cases work on. */
export const SESSION: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };

/** The artifact that most cases work on. */
export const KEY: ArtifactKey = { ...SESSION, filename: 'report.txt' };

/** A part of text. */
export function text(value: string): Part {
  return { text: value };
}

/** A part of bytes. */
export function bytes(values: Iterable<number>, mimeType = 'application/octet-stream'): Part {
  let binary = '';
  for (const value of values) binary += String.fromCharCode(value);
  return { inlineData: { mimeType, data: btoa(binary) } };
}
