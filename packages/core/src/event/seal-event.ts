import { InvalidEventError } from '../errors/invalid-event-error.ts';
import type { Event } from './event.ts';

/** How deep an event may nest. */
const MAX_DEPTH = 200;

/** Why something is not JSON, and the keys from it up to the event, gathered on the way back. */
interface Fault {
  readonly reason: string;
  readonly keys: string[];
}

/**
 * Makes an event what it is said to be: JSON, and never modified again. Every object in it is frozen, so that whoever still
 * holds one and writes to it is told with a TypeError, instead of changing what was stored and what the model is shown next.
 * What is frozen already counts as sealed. The structured output, which is not JSON, is left alone.
 *
 * @throws InvalidEventError that names the path of what is not JSON
 */
export function sealEvent(event: Event): Event {
  if (Object.isFrozen(event)) return event;
  const fault = sealObject(event, 0);
  if (!fault) return event;
  const path = fault.keys.reduce((at, key) => (/^\d+$/.test(key) ? `${at}[${key}]` : `${at}.${key}`), 'event');
  throw new InvalidEventError(`${path}: ${fault.reason}; events are JSON`, { path });
}

function sealObject(value: object, depth: number): Fault | undefined {
  if (depth > MAX_DEPTH) return { reason: 'is nested too deep (is it a cycle?)', keys: [] };
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !isForeignPlain(value, prototype)) {
    return { reason: `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`, keys: [] };
  }
  for (const key in value) {
    const item: unknown = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof item === 'string') continue;
    const fault = sealValue(item, depth);
    if (fault) {
      fault.keys.unshift(key);
      return fault;
    }
  }
  Object.freeze(value);
  return undefined;
}

function sealList(list: readonly unknown[], depth: number): Fault | undefined {
  if (depth > MAX_DEPTH) return { reason: 'is nested too deep (is it a cycle?)', keys: [] };
  for (let index = 0; index < list.length; index++) {
    const fault = sealValue(list[index], depth);
    if (fault) {
      fault.keys.unshift(String(index));
      return fault;
    }
  }
  Object.freeze(list);
  return undefined;
}

function sealValue(value: unknown, depth: number): Fault | undefined {
  switch (typeof value) {
    case 'object':
      if (value === null || Object.isFrozen(value)) return undefined;
      return Array.isArray(value) ? sealList(value, depth + 1) : sealObject(value, depth + 1);
    case 'number':
      return Number.isFinite(value) ? undefined : { reason: `is ${value}, which JSON cannot say`, keys: [] };
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined;
    default:
      return { reason: `is a ${typeof value}`, keys: [] };
  }
}

/** A plain object of another realm. */
function isForeignPlain(value: object, prototype: unknown): boolean {
  return (
    typeof prototype === 'object' &&
    prototype !== null &&
    Object.getPrototypeOf(prototype) === null &&
    !Array.isArray(value)
  );
}
