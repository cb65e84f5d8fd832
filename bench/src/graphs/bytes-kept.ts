import { type Event, systemPlatform } from '@eventloom/core';
import type { GraphAgent } from '@eventloom/graph';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { collectedHeap } from '../collected-heap.ts';
import { APP, drain } from '../setup.ts';
import { NUMBER_MESSAGE } from './number-message.ts';

/** Number of runs that are measured together, so large that compiled code does not matter. */
const NODES = 20_000;

/** Number of bytes for each node. */
export interface BytesKept {
  readonly ours: number;
  readonly floor: number;
}

/**
 * Measures the bytes that a run leaves in memory for each node while its session is kept, and the bytes of a plain loop that creates a list
 * of the same events, each with an id and a time, which share equal texts and parts.
 */
export async function bytesKept(graph: GraphAgent, nodes: number): Promise<BytesKept> {
  const runs = Math.ceil(NODES / nodes);
  const service = new InMemorySessionService();
  const runner = new Runner({
    appName: APP.appName,
    agent: graph,
    sessionService: service,
    sessionCache: { maxSessions: 0 },
  });
  const play = async (sessionId: string): Promise<void> => {
    await service.createSession({ ...APP, sessionId });
    await drain(runner.runAsync({ ...APP, sessionId, newMessage: NUMBER_MESSAGE }));
  };
  await play('warm');
  const events = (await service.getSession({ ...APP, sessionId: 'warm' }))?.events ?? [];
  const held: Event[][] = [];
  const kept = async (once: (run: number) => unknown): Promise<number> => {
    // The first runs compile code, and free what was measured before.
    for (let run = -runs; run < 0; run++) await once(run);
    const before = await collectedHeap();
    for (let run = 0; run < runs; run++) await once(run);
    return ((await collectedHeap()) - before) / runs / nodes;
  };
  const ours = await kept((run) => play(`s${run}`));
  const floor = await kept(() => held.push(heldByHand(events)));
  // From here on, the runs are garbage.
  held.length = 0;
  return { ours, floor };
}

/** Returns the events of another such run in as little memory as plain objects need. */
function heldByHand(events: readonly Event[]): Event[] {
  const texts = new Map<string, string>();
  const parts = new Map<string, unknown>();
  const text = (value: string): string => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    // Another run has its own texts.
    const own = JSON.parse(JSON.stringify(value)) as string;
    texts.set(value, own);
    return own;
  };
  const part = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value !== 'object' || value === null) return value;
    const json = JSON.stringify(value);
    const known = parts.get(json);
    if (known !== undefined) return known;
    const own = Array.isArray(value) ? value.map(part) : withOwnParts(value);
    parts.set(json, own);
    return own;
  };
  /** Keeps the object layout of the original, because objects that are built key by key need more memory. */
  const withOwnParts = (value: object): Record<string, unknown> => {
    const copy: Record<string, unknown> = { ...value };
    for (const [key, inner] of Object.entries(copy)) copy[key] = part(inner);
    return copy;
  };
  // A copy of an event is an event.
  return events.map((event) => ({ ...(withOwnParts(event) as unknown as Event), id: systemPlatform.newEventId() }));
}
