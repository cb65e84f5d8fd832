import { type BaseSessionService, EventloomError } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, START, StateGraph } from './index.ts';

const IDS = { userId: 'u', sessionId: 's' };

class FullError extends EventloomError {
  static override readonly code = 'FULL';
}

/** A session service that runs `work` before each write to its ledger. */
function ledgerThat(service: BaseSessionService, work: () => Promise<void>): BaseSessionService {
  return new Proxy(service, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      const bound = found.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'recordToolCall') return bound;
      return (...given: unknown[]) => work().then(() => bound(...given));
    },
  });
}

/** A graph whose reader stops while one of its nodes writes to the ledger. */
async function leaving(work: (gate: Gate) => Promise<void>) {
  const platform = fixedPlatform();
  const gate = new Gate();
  const stored = new InMemorySessionService({ platform });
  await stored.createSession({ appName: 'app', ...IDS });
  const agent = new StateGraph({ name: 'g' })
    .addNode('slow', async (_: string, context) => {
      await gate.reached;
      await context.emitText('it writes');
      await new Promise(() => undefined);
    })
    .addNode('quick', () => 'done')
    .addEdge(START, ['slow', 'quick'])
    .addEdge('slow', END)
    .addEdge('quick', END)
    .compile();
  const sessionService = ledgerThat(stored, () => work(gate));
  const stream = new Runner({ appName: 'app', agent, sessionService, platform }).runAsync({
    ...IDS,
    newMessage: { parts: [{ text: 'hi' }] },
  });
  let hasLeft = false;
  const left = (async () => {
    for await (const { nodeEvent } of stream) if (nodeEvent) break;
    hasLeft = true;
  })();
  await gate.reached;
  /** Resolves after all work that no later timer delays. */
  const settle = () => new Promise<void>((resolve) => platform.schedule(0, resolve));
  return { gate, platform, left, settle, hasLeft: () => hasLeft };
}

test('closing the stream of a graph waits for writes of its nodes', async () => {
  const { gate, left, settle, hasLeft, platform } = await leaving((held) => held.pass());
  for (let turn = 0; turn < 5; turn++) await settle();
  expect(hasLeft()).toBe(false);
  gate.open();
  await left;
  await expect(platform.drain()).resolves.toBeUndefined();
});

test('closing the stream of a graph waits at most five seconds', async () => {
  const { left, settle, hasLeft, platform } = await leaving((held) => held.pass());
  for (let turn = 0; turn < 5; turn++) await settle();
  platform.advance(4999);
  for (let turn = 0; turn < 5; turn++) await settle();
  expect(hasLeft()).toBe(false);
  platform.advance(1);
  await left;
});

test('errors of nodes after the stream was closed are reported to the platform', async () => {
  const { gate, left, platform } = await leaving(async (held) => {
    await held.pass();
    throw new FullError('the disk is full');
  });
  gate.open();
  await left;
  await expect(platform.drain()).rejects.toThrow('the disk is full');
});
