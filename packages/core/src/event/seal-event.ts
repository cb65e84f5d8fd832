import { copyField, type JsonWalk } from '../content/json-walk.ts';
import { InvalidEventError } from '../errors.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';
import { EVENT } from './event-shape.ts';

/** How to seal. */
export interface SealEventOptions {
  /** Also see to it that bytes are base64. Default false: they come from whoever encoded them, and may be many. */
  readonly checkBytes?: boolean;
}

/**
 * The event as it is stored: a copy that is JSON, whose every known field is what the type says, and that nobody can change,
 * because every object in it is frozen. A known field that is null is left out, as it is in `parseEvent`; fields that are not known are
 * kept. The event that was given stays its owner's. The structured output, which is not JSON, is carried over as it is.
 *
 * @throws InvalidEventError that names the path of what is not JSON, of another type than it must be, or missing
 */
export function sealEvent(event: Event, { checkBytes = false }: SealEventOptions = {}): Event {
  const walk: JsonWalk = { freezes: true, toJson: false, checkBytes, reason: undefined, keys: [] };
  const copy = copyField(event, walk, 0, EVENT) as Event | undefined;
  if (!copy) {
    const path = walk.keys.reduce(
      (at: string, key) => (typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`),
      'event',
    );
    throw new InvalidEventError(`${path}: ${walk.reason}`, { path });
  }
  const output = event[STRUCTURED_OUTPUT];
  return output === undefined ? copy : Object.freeze({ ...copy, [STRUCTURED_OUTPUT]: output });
}
