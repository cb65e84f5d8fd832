import { setTimeout as pass } from 'node:timers/promises';
import { getFunctionResponses } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { openRunCall, OURS } from '../live/calls.ts';
import { GeminiPeer } from '../live/gemini-peer.ts';
import { quantile } from '../live/latencies.ts';
import { PieceCounter } from '../live/piece-counter.ts';
import type { Row } from '../report.ts';

const TOOL_MS = 2000;
const EVERY_MS = 20;
const PIECES = TOOL_MS / EVERY_MS;
const ROUNDS = 3;

/** L4: the pace of speech at the caller while a tool runs for two seconds. The floor is the pace without the tool. */
export async function liveTool(): Promise<Row[]> {
  const gemini = await GeminiPeer.start();
  const pieces = new PieceCounter();
  const times: number[] = [];
  let answered = Promise.withResolvers<void>();
  let heardBeforeAnswer = 0;
  const look = new FunctionTool({
    name: 'look',
    description: 'Takes its time.',
    execute: async () => {
      await pass(TOOL_MS);
      return { found: true };
    },
  });
  try {
    const call = await openRunCall(
      gemini.url,
      {
        onPiece: () => {
          times.push(performance.now());
          pieces.add();
        },
        onEvent: (event) => {
          if (getFunctionResponses(event).length === 0) return;
          heardBeforeAnswer += times.length;
          answered.resolve();
        },
      },
      { tools: [look] },
    );
    const gapsOf = async (): Promise<number[]> => {
      times.length = 0;
      const heard = pieces.more(PIECES);
      await gemini.order({ does: 'speak', model: OURS, pieces: PIECES, everyMs: EVERY_MS });
      await heard;
      return times.slice(1).map((time, index) => time - (times[index] ?? Number.NaN));
    };
    await gapsOf();
    const alone: number[] = [];
    const beside: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(...(await gapsOf()));
      answered = Promise.withResolvers();
      const functionCalls = [{ id: `call-${round}`, name: 'look', args: {} }];
      await gemini.order({ does: 'say', model: OURS, message: { toolCall: { functionCalls } } });
      beside.push(...(await gapsOf()));
      await answered.promise;
    }
    await call.end();
    const row = (figure: string, share: number): Row => ({
      workload: 'L4',
      figure: `gap between pieces of speech while a tool runs, ${figure}`,
      unit: 'ms',
      ours: quantile(beside, share),
      floor: quantile(alone, share),
    });
    return [
      row('median', 0.5),
      row('p99', 0.99),
      row('longest', 1),
      {
        workload: 'L4',
        figure: `pieces at the caller in the ${TOOL_MS / 1000} s of the tool, of ${PIECES} said`,
        unit: '',
        ours: heardBeforeAnswer / ROUNDS,
        floor: PIECES,
      },
    ];
  } finally {
    gemini.close();
  }
}
