/**
 * Plays generated conversations: `pnpm agent-trees [--from 1] [--to 2000] [--back-end in-memory|sqlite] [--verbose]`.
 * Prints the faults with their seeds, and exits with 1 if there are any. `--verbose` prints each play with its history.
 */
import { parseArgs } from 'node:util';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { describeHistory, playConversation } from './play-conversation.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '2000' },
    'back-end': { type: 'string', default: 'in-memory' },
    verbose: { type: 'boolean', default: false },
  },
});
let faulty = 0;
for (let seed = Number(values.from); seed <= Number(values.to); seed++) {
  const play = await playConversation(seed, (platform) =>
    values['back-end'] === 'sqlite'
      ? new SqliteSessionService({ path: ':memory:', platform })
      : new InMemorySessionService({ platform }),
  );
  if (play.faults.length > 0) faulty++;
  for (const fault of play.faults) console.log(`seed ${seed}: ${fault}`);
  if (values.verbose)
    console.log(JSON.stringify(play.plan, undefined, 1), play.log.join('\n'), describeHistory(play.events));
}
console.log(`${Number(values.to) - Number(values.from) + 1} plays, ${faulty} with faults`);
process.exitCode = faulty > 0 ? 1 : 0;
