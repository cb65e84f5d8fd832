/**
 * Plays generated workflows with pauses and without: `pnpm workflows [--from 1] [--to 2000] [--verbose]`. Prints the
 * differences with their seeds, and exits with 1 if there are any. `--verbose` prints each plan and what both plays
 * did.
 */
import { parseArgs } from 'node:util';
import { compareWorkflow } from './play-workflow.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '2000' },
    verbose: { type: 'boolean', default: false },
  },
});
const [from, to] = [Number(values.from), Number(values.to)];
let faulty = 0;
let messages = 0;
for (let seed = from; seed <= to; seed++) {
  const { plan, withPauses, withoutPauses, faults } = await compareWorkflow(seed);
  messages += withPauses.messages;
  if (faults.length > 0) faulty++;
  for (const fault of faults) console.log(`seed ${seed}: ${fault}`);
  if (values.verbose)
    console.log(JSON.stringify(plan, undefined, 1), withoutPauses.steps.join('\n'), '', withPauses.steps.join('\n'));
}
console.log(`${to - from + 1} workflows, ${messages} messages, ${faulty} workflows with faults`);
process.exitCode = faulty > 0 ? 1 : 0;
