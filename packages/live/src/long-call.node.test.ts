import { ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { liveScenario } from './fixtures/live-scenario.ts';

const CONNECTIONS = 12;
const SECONDS = 600;
/** Number of events that the run may hold at any time: those on their way. */
const FEW = 16;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test.each([false, true])(
  'a call of two hours keeps no memory except requests in flight (service reports consumed sends: %s)',
  async (tellsConsumed) => {
    const steps = Array.from({ length: SECONDS }, (_, second): ScriptedLiveStep[] => [
      // Input to a connection that is about to end may be lost if the service does not report consumed input.
      ...(second > 0 || tellsConsumed ? [{ heard: 'blob' as const }] : []),
      () => [{ content: { role: 'model', parts: [{ inlineData: { data: 'AAAA', mimeType: 'audio/pcm' } }] } }],
      ...(second % 60 === 59 ? [{ turnComplete: true }] : []),
      {
        liveSessionResumptionUpdate: { newHandle: 'h', resumable: true },
        ...(tellsConsumed ? { consumedSends: second + 1 } : {}),
      },
    ]).flat();
    const model = new ScriptedLiveModel(() => ({ tellsConsumed, steps: [...steps, { ends: 1011 }] }), {
      recordSent: false,
    });
    const { platform, queue, stream } = await liveScenario({ model, runConfig: { sessionResumption: {} } });
    const heard: WeakRef<object>[] = [];
    const said: WeakRef<object>[] = [];
    const say = (): void => {
      const blob = { data: 'BBBB', mimeType: 'audio/pcm' };
      said.push(new WeakRef(blob));
      queue.sendRealtime(blob);
    };
    const held = async (refs: readonly WeakRef<object>[]): Promise<number> => {
      // A WeakRef that was read keeps its target until this turn of the event loop ends.
      await new Promise((resolve) => setImmediate(resolve));
      collectGarbage();
      return refs.filter((ref) => ref.deref() !== undefined).length;
    };
    say();
    for await (const event of stream) {
      if (!event.content) continue;
      heard.push(new WeakRef(event));
      platform.advance(1000);
      if (heard.length % (3 * SECONDS) === 0) {
        expect(await held(heard)).toBeLessThan(FEW);
        expect(await held(said)).toBeLessThan(FEW);
        expect(queue.chars).toBe(0);
      }
      if (heard.length < CONNECTIONS * SECONDS) say();
      else queue.close();
    }
    expect(heard).toHaveLength(CONNECTIONS * SECONDS);
  },
);
