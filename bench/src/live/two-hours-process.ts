import type { Platform } from '@eventloom/core';
import { type FixedPlatform, fixedPlatform } from '@eventloom/testing';
import { collectedHeap } from '../collected-heap.ts';
import { openRunCall, OURS } from './calls.ts';
import { PIECE_MS } from './gemini-order.ts';
import { GeminiPeer } from './gemini-peer.ts';
import { PieceCounter } from './piece-counter.ts';

// Runs calls of two hours with a clock that is advanced, and a new connection every ten minutes: half of them because
// the service asks for it, half because the network fails. The process does nothing else, so that nothing else is in
// its heap. Prints, for the second call (the first one compiles code), the heap after each ten minutes, and the JSON
// size of the stored events.

const CONNECTIONS = 12;
const MINUTES = 10;
const PIECES_A_MINUTE = 60_000 / PIECE_MS;
/** Words that the transcription has for each minute, of the user and of the model. */
const HEARD = 'and what would you say if somebody asked you for the way '.repeat(2);
const SAID = 'go down the road and turn left at the second light and then '.repeat(4);
/** The audio that the client sends in a second: 100 ms of 16 kHz PCM. It is short because the fake Gemini keeps it. */
const SPOKEN = { data: Buffer.alloc(3200, 3).toString('base64'), mimeType: 'audio/pcm;rate=16000' };

/** Figures after ten minutes. */
export interface TenMinutes {
  readonly heapBytes: number;
  readonly storedBytes: number;
}

const gemini = await GeminiPeer.start();
await talk();
console.log(JSON.stringify(await talk()));
gemini.close();

async function talk(): Promise<TenMinutes[]> {
  const clock = fixedPlatform();
  const pieces = new PieceCounter();
  let connected = Promise.withResolvers<void>();
  let turnEnd = Promise.withResolvers<void>();
  const listener = {
    onPiece: () => {
      clock.advance(PIECE_MS);
      pieces.add();
    },
    onEvent: ({ turnComplete }: { readonly turnComplete?: boolean }) => {
      if (turnComplete === true) turnEnd.resolve();
    },
    onConnected: () => connected.resolve(),
  };
  const runConfig = { sessionResumption: {} };
  const call = await openRunCall(gemini.url, listener, { platform: withoutWork(clock), runConfig });
  const say = (message: Readonly<Record<string, unknown>>) => gemini.order({ does: 'say', model: OURS, message });
  const measured: TenMinutes[] = [];
  for (let connection = 1; connection <= CONNECTIONS; connection++) {
    for (let minute = 0; minute < MINUTES; minute++) {
      turnEnd = Promise.withResolvers();
      for (let second = 0; second < 60; second++) call.queue?.sendRealtime(SPOKEN);
      await say({ serverContent: { inputTranscription: { text: HEARD } } });
      const heard = pieces.more(PIECES_A_MINUTE);
      await gemini.order({ does: 'speak', model: OURS, pieces: PIECES_A_MINUTE });
      await say({ serverContent: { outputTranscription: { text: SAID } } });
      await say({ serverContent: { turnComplete: true } });
      await Promise.all([heard, turnEnd.promise]);
    }
    const storedBytes = JSON.stringify(await call.stored?.()).length;
    measured.push({ heapBytes: await collectedHeap(), storedBytes });
    if (connection === CONNECTIONS) break;
    connected = Promise.withResolvers();
    await say({ sessionResumptionUpdate: { newHandle: `handle-${connection}`, resumable: true } });
    if (connection % 2 === 0) await say({ goAway: { timeLeft: '10s' } });
    else await gemini.order({ does: 'cut', model: OURS });
    await connected.promise;
  }
  await call.end();
  return measured;
}

/** Returns a platform with only the clock: a fixed platform keeps background work for its `drain`. */
function withoutWork(clock: FixedPlatform): Platform {
  return { ...clock, background: (work) => void work.catch(() => undefined) };
}
