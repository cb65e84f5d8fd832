import { JoinNode, node, type NodeContext, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const one = node((_context: NodeContext, text: string) => `one(${text})`, { name: 'one' });
const two = node((_context: NodeContext, text: string) => `two(${text})`, { name: 'two' });
const collect = node((_context: NodeContext, text: string) => `collected ${text}`, { name: 'collect' });
const collected = new Workflow({
  name: 'collected',
  edges: [
    ['START', [one, two]],
    [one, collect],
    [two, collect],
  ],
});

const shorten = node((_context: NodeContext, text: string) => `${text.split(' ').slice(0, 2).join(' ')}…`, {
  name: 'shorten',
});
const orchestrate = node(
  async (context: NodeContext, text: string) => (await context.runNode(shorten, text, { useAsOutput: true })).output,
  { name: 'orchestrate' },
);
const finalize = node((_context: NodeContext, text: string) => `final: ${text}`, { name: 'finalize' });
const shortened = new Workflow({ name: 'shortened', edges: [['START', orchestrate, finalize]] });

let attempts = 0;
const flaky = node(
  () => {
    attempts++;
    if (attempts < 3) throw new Error(`attempt ${attempts} failed`);
    return 'sunny';
  },
  { name: 'flaky', retryConfig: { maxAttempts: 5, initialDelay: 0.001, jitter: 0 } },
);
const forecast = node((_context: NodeContext, text: string) => `It is ${text} after ${attempts} attempts.`, {
  name: 'forecast',
});
const retried = new Workflow({ name: 'retried', edges: [['START', flaky, forecast]] });

const begin = node(
  (context: NodeContext, year: string) => {
    context.state.set('year', year.trim());
    return year.trim();
  },
  { name: 'begin' },
);
const born = node((_context: NodeContext, year: string) => `somebody born in ${year}`, { name: 'born' });
const life = node((_context: NodeContext, name: string) => `The life of ${name}.`, { name: 'life' });
const person = new Workflow({ name: 'person', edges: [['START', born, life]] });
const happened = node((context: NodeContext) => `The year ${context.state.get<string>('year')}.`, { name: 'happened' });
const combine = node(
  (_context: NodeContext, found: Record<string, string>) => `${found['person']} ${found['happened']}`,
  {
    name: 'combine',
  },
);
const nested = new Workflow({
  name: 'nested',
  edges: [['START', begin, [person, happened], new JoinNode({ name: 'join' }), combine]],
  maxConcurrency: 1,
});

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, collected, ['x']);
    await converse(tell, shortened, ['One two three four.']);
    await converse(tell, retried, ['go']);
    await converse(tell, nested, [' 1984 ']);
  },
};
export default program;
