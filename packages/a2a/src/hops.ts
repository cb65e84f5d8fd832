import { isRecord } from '@eventloom/core/internal';
import { A2ARequestError } from './errors.ts';
import type { Metadata } from './wire.ts';

// Agents that call each other in a circle would start runs endlessly. Each message says how many remote agents it passed before.

/** Metadata of messages and of the runs that they begin: the number of remote agents that the message passed. */
const HOPS = 'eventloom_hops';
/** The number of remote agents that a message may pass. */
const MAX_HOPS = 10;

function hopsOf(metadata: unknown): number {
  const hops = isRecord(metadata) ? metadata[HOPS] : undefined;
  return typeof hops === 'number' && Number.isSafeInteger(hops) && hops > 0 ? hops : 0;
}

/** Returns the metadata of the run that a message begins. @throws A2ARequestError if the message passed too many remote agents */
export function runMetadataOf(message: { readonly metadata?: Metadata }): Metadata {
  const hops = hopsOf(message.metadata);
  if (hops > MAX_HOPS)
    throw new A2ARequestError(
      'UNSUPPORTED_OPERATION',
      `the message passed ${MAX_HOPS} remote agents, the most that this server accepts; do agents call each other in a circle?`,
    );
  return hops === 0 ? {} : { [HOPS]: hops };
}

/** Returns the metadata of a message that a run sends to a remote agent. @param metadata that of the run */
export function messageMetadataOf(metadata: Metadata | undefined): Metadata {
  return { [HOPS]: hopsOf(metadata) + 1 };
}
