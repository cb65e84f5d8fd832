import { isRecord } from '@eventloom/core';
import { BodyTooLargeError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';

/** How many things a body may have. */
export type CountLimits = Pick<ServerLimits, 'maxBodyParts' | 'maxBodyEvents' | 'maxBodyKeys'>;

/** Where bodies have things that are counted, in either spelling; undefined for what has such things in it. */
const COUNTED: Readonly<Record<string, keyof CountLimits | undefined>> = {
  newMessage: undefined,
  new_message: undefined,
  content: undefined,
  actions: undefined,
  parts: 'maxBodyParts',
  events: 'maxBodyEvents',
  state: 'maxBodyKeys',
  stateDelta: 'maxBodyKeys',
  state_delta: 'maxBodyKeys',
  removedState: 'maxBodyKeys',
  removed_state: 'maxBodyKeys',
};

/**
 * Looks how much there is in a body before anything of it is read: a body that is small can have very many things in it.
 * @throws BodyTooLargeError for more than the limits say
 */
export function checkCounts(body: unknown, limits: CountLimits, path = ''): void {
  if (!isRecord(body)) return;
  for (const [name, limit] of Object.entries(COUNTED)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (typeof value !== 'object' || value === null) continue;
    const at = path + name;
    if (limit === undefined) checkCounts(value, limits, `${at}.`);
    else if (Object.keys(value).length > limits[limit])
      throw new BodyTooLargeError(
        `${at}: has more than ${limits[limit]} entries, which is limits.${limit} of this server`,
      );
    if (name === 'events' && Array.isArray(value))
      for (const [index, event] of value.entries()) checkCounts(event, limits, `${at}[${index}].`);
  }
}
