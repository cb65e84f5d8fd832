import { setTimeout as sleep } from 'node:timers/promises';
import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { collectedHeap } from '../collected-heap.ts';
import { createFloorSession, type FloorSession, floorTurn } from '../floor.ts';
import { compare, summarize } from '../measure.ts';
import { InstantModel } from '../models.ts';
import { APP, createRunner, drain, MESSAGE, turn } from '../setup.ts';

// Runs new sessions with a turn each, all concurrently, while the model takes 50 ms. The process does nothing else, so
// that nothing else is in its heap. Prints the result of each side.

const SESSIONS = 1000;
const MODEL_MS = 50;
const MEMORY_ROUNDS = 5;

/** A model that answers after a wait. */
class WaitingModel extends BaseLlm {
  readonly #wait: () => Promise<unknown>;
  readonly #instant = new InstantModel();

  constructor(wait: () => Promise<unknown>) {
    super({ model: 'waiting' });
    this.#wait = wait;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    await this.#wait();
    yield* this.#instant.generateContentAsync(request);
  }
}

/** Creates sessions and runs a turn in each, all concurrently. Returns their number. */
type Place = (model: BaseLlm) => () => Promise<number>;

const ours: Place = (model) => {
  const sessions = new InMemorySessionService();
  const runner = createRunner(model, sessions);
  return () =>
    allAtOnce(async (sessionId) => {
      await sessions.createSession({ ...APP, sessionId });
      await turn(runner, sessionId);
    });
};

const floor: Place = (model) => {
  const sessions = new Map<string, FloorSession>();
  return () =>
    allAtOnce(async (id) => {
      const session = createFloorSession(id);
      sessions.set(id, session);
      await drain(floorTurn(session, model, MESSAGE));
    });
};

async function allAtOnce(once: (sessionId: string) => Promise<void>): Promise<number> {
  await Promise.all(Array.from({ length: SESSIONS }, (_, index) => once(`s${index}`)));
  return SESSIONS;
}

/** The result of one side: the time until all turns ended, and the memory in use while all of them waited. */
export interface InFlight {
  readonly wallMs: number;
  readonly addedBytes: number;
}

const sides: readonly (readonly [name: string, place: Place])[] = [
  ['ours', ours],
  ['floor', floor],
];
const measured = await compare(sides.map(([name, place]) => ({ name, ...timed(place) })));
const added = new Map<string, number[]>(sides.map(([name]) => [name, []]));
for (let round = -1; round < MEMORY_ROUNDS; round++) {
  for (const [name, place] of sides) {
    const bytes = await bytesInFlight(place);
    if (round >= 0) added.get(name)?.push(bytes);
  }
}
const inFlight = sides.map(([name]): [string, InFlight] => [
  name,
  {
    wallMs: ((measured.get(name)?.medianUs ?? Number.NaN) * SESSIONS) / 1000,
    addedBytes: summarize(added.get(name) ?? []).medianUs,
  },
]);
console.log(JSON.stringify(Object.fromEntries(inFlight)));

/** Measures rounds in new sessions; sessions of earlier rounds are garbage by then. */
function timed(place: Place): { prepare: () => Promise<void>; round: () => Promise<number> } {
  let run = async (): Promise<number> => 0;
  return {
    prepare: async () => {
      run = place(new WaitingModel(() => sleep(MODEL_MS)));
    },
    round: () => run(),
  };
}

/** Measures the additional bytes of the heap, without garbage, while every session waits for the model. */
async function bytesInFlight(place: Place): Promise<number> {
  const everyoneWaits = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let waiting = 0;
  const run = place(
    new WaitingModel(() => {
      if (++waiting === SESSIONS) everyoneWaits.resolve();
      return answer.promise;
    }),
  );
  const before = await collectedHeap();
  const running = run();
  await everyoneWaits.promise;
  const bytes = (await collectedHeap()) - before;
  answer.resolve();
  await running;
  return bytes;
}
