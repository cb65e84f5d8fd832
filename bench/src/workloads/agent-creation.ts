import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compare } from '../measure.ts';
import { InstantModel } from '../models.ts';
import { limitRow, type Row } from '../report.ts';
import { createAgent } from '../setup.ts';

/** W10: creating an agent with one tool. */
export async function agentCreation(): Promise<Row[]> {
  const model = new InstantModel();
  const count = 5000;
  const kept: unknown[] = [];
  const measured = await compare([
    {
      name: 'ours',
      round() {
        kept.length = 0;
        for (let index = 0; index < count; index++) kept.push(createAgent(model));
        return count;
      },
    },
  ]);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  kept.length = 0;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < count; index++) kept.push(createAgent(model));
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  return [
    limitRow('W10', 'creating an agent with one tool', 'µs', measured.get('ours')?.medianUs ?? Number.NaN, 3),
    limitRow('W10', 'memory of it', 'bytes', bytes, 800),
  ];
}
