import { describe, expect, test } from 'vitest';
import { type AllowedStep, slowLoops, slowSteps, unusedSteps } from './loops.ts';
import { shippedSources } from './patterns.ts';
import { readWorkspaces } from './repository.ts';

/** Steps that the check rejects and that no input can make slow. */
const ALLOWED: readonly AllowedStep[] = [
  { path: 'packages/adk/src/workflow/workflow-history.ts', reason: 'the runs of one node, taken in order' },
  { path: 'packages/adk/src/workflow/workflow-run.ts', reason: 'the open questions of one node' },
  { path: 'packages/adk/src/workflow/node-attempts.ts', reason: 'the open questions of one node' },
  { path: 'packages/ai-sdk/src/prompt.ts', reason: 'the open calls with one id' },
  { path: 'packages/client/src/conversation.ts', reason: 'the open requests, and the calls of one reply' },
  { path: 'packages/dev/src/span-store.ts', reason: 'drops half of a session at once' },
  { path: 'packages/graph/src/commit-queue.ts', reason: 'the branches of a graph that wait for their turn' },
  { path: 'packages/graph/src/node-commits.ts', reason: 'the targets of one node' },
  { path: 'packages/graph/src/state-graph.ts', reason: 'the targets of one node' },
  { path: 'packages/live/src/live-input.ts', reason: 'a Fifo, which moves nothing' },
  { path: 'packages/live/src/live-request-queue.ts', reason: 'a Fifo, which moves nothing' },
  { path: 'packages/live/src/service-session.ts', reason: 'requests that are sent again, one by one' },
  { path: 'packages/live/src/unconsumed-requests.ts', reason: 'a few megabytes of speech at most' },
  { path: 'packages/runner/src/history-reader.ts', text: 'events = ', reason: 'each page is four times the last one' },
  { path: 'packages/server/src/http/large-responses.ts', reason: '64 blocks' },
  { path: 'packages/server/src/node/serve.ts', reason: 'eight responses' },
];

const file = (text: string) => ({ path: 'packages/core/src/a.ts', text });

// The check parses every source.
describe('the loops of this repository', () => {
  const sources = shippedSources(readWorkspaces().flatMap(({ files }) => files));

  test('take linear time', () => {
    expect(slowLoops(sources, ALLOWED)).toEqual([]);
  });

  test('include all steps with an allowance', () => {
    expect(unusedSteps(sources, ALLOWED)).toEqual([]);
  });
});

test.each([
  'while (text) text = text.slice(1);',
  'for (;;) { text = text.substring(text.indexOf("a")); }',
  'while (queue.length > 0) run(queue.shift());',
  'for (const each of list) all.unshift(each);',
  'for (const each of list) all.splice(at, 1);',
  'for (const each of list) all = [...all, each];',
  'for (const each of list) all = [...each, ...all];',
  'for (const each of list) all = { ...all, [each]: true };',
  'do { all = all.concat(next()); } while (more());',
  'for (const each of list) if (!all.includes(each)) all.push(each);',
  'list.map((each) => { if (!this.all.some((other) => other === each)) this.all.push(each); });',
])('%s is reported', (text) => {
  expect(slowLoops([file(text)])).toHaveLength(1);
});

test.each([
  'text = text.slice(1);',
  'queue.shift();',
  'for (const each of list) all.push(each);',
  'for (const each of list) if (!known.has(each)) all.push(each);',
  'for (const each of all.splice(0)) run(each);',
  'for (const each of list) row = [...each, 1];',
  'for (const each of list) if (NAMES.includes(each)) all.push(each);',
  'list.filter((each) => names.includes(each));',
])('%s passes', (text) => {
  expect(slowLoops([file(text)])).toEqual([]);
});

test('an allowance is for its file and its step, and is reported if it is unused', () => {
  const files = [file('for (;;) { a.shift(); b.shift(); }')];
  const allowed = [
    { path: 'packages/core/src/a.ts', text: 'a.shift()', reason: '' },
    { path: 'packages/core/src/b.ts', reason: '' },
  ];
  expect(slowLoops(files, allowed)).toEqual([
    'packages/core/src/a.ts: in a loop, b.shift() moves the rest of the list',
  ]);
  expect(unusedSteps(files, allowed)).toEqual([allowed[1]]);
  expect(slowSteps(files[0] ?? file('')).map(({ reason }) => reason)).toEqual([
    'moves the rest of the list',
    'moves the rest of the list',
  ]);
});
