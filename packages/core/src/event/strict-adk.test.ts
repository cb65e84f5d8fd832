import { expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { parseEvent } from './parse-event.ts';
import { serializeEvent } from './serialize-event.ts';
import { fromStrictAdk, toStrictAdk } from './strict-adk.ts';

const PLAIN = createEvent({
  id: 'id',
  invocationId: 'e-1',
  author: 'agent',
  timestamp: 1.5,
  branch: 'a.b',
  content: { role: 'model', parts: [{ text: 'hi' }] },
  usageMetadata: { totalTokenCount: 3 },
  customMetadata: { mine: 1 },
  longRunningToolIds: ['c1'],
  actions: { stateDelta: { a: 1 }, escalate: true },
});

const FULL: Event = {
  ...PLAIN,
  requestId: 'r',
  executionId: 'e-2',
  parentExecutionId: 'e-1',
  responseId: 'x',
  object: 'chat.completion',
  tags: ['t'],
  nodeEvent: { eventType: 'a', category: 'text', nodeId: 'n' },
  error: { type: 'a', message: 'b' },
  alternatives: [{ index: 1 }],
  usageMetadata: { totalTokenCount: 3, timingInfo: { timeToFirstTokenMs: 5 } },
  actions: { ...PLAIN.actions, removedState: ['b'], history: { seq: 2, rewoundFrom: 1 } },
};

test('toStrictAdk returns an event with only ADK fields unchanged', () => {
  expect(toStrictAdk(PLAIN)).toEqual(PLAIN);
  expect(fromStrictAdk(PLAIN)).toBe(PLAIN);
});

test('toStrictAdk moves additional fields to customMetadata.eventloom, including those in usage and actions', () => {
  expect(toStrictAdk(FULL)).toEqual({
    ...PLAIN,
    customMetadata: {
      mine: 1,
      eventloom: {
        requestId: 'r',
        executionId: 'e-2',
        parentExecutionId: 'e-1',
        responseId: 'x',
        object: 'chat.completion',
        tags: ['t'],
        nodeEvent: { eventType: 'a', category: 'text', nodeId: 'n' },
        error: { type: 'a', message: 'b' },
        alternatives: [{ index: 1 }],
        timingInfo: { timeToFirstTokenMs: 5 },
        removedState: ['b'],
        history: { seq: 2, rewoundFrom: 1 },
      },
    },
  });
});

test('toStrictAdk writes the route of a node where adk-python has it', () => {
  const routed = createEvent({ id: 'id', route: ['yes', 2], actions: { removedState: ['b'] } });
  expect(toStrictAdk(routed)).toMatchObject({
    actions: { stateDelta: {}, artifactDelta: {}, route: ['yes', 2] },
    customMetadata: { eventloom: { route: ['yes', 2], removedState: ['b'] } },
  });
});

test.each([
  ['all of our fields', FULL],
  ['the route of a node', createEvent({ id: 'id', route: ['yes', 2] })],
  ['another route in its actions', parseEvent('{"id":"id","route":"yes","actions":{"route":"no"}}')],
  ['no metadata of its own', createEvent({ id: 'id', object: 'x' })],
  ['only the time of a reply', createEvent({ usageMetadata: { timingInfo: { reasoningDurationMs: 1 } } })],
  ['metadata under our key', createEvent({ customMetadata: { eventloom: { object: 'mine' }, a: 1 } })],
  ['metadata under our key and our fields', createEvent({ object: 'ours', customMetadata: { eventloom: 'mine' } })],
  ['a key that nobody knows', parseEvent('{"id":"id","someday":{"a":1},"__proto__":{"admin":true}}')],
])('fromStrictAdk undoes it for an event with %s, over the wire too', (_name, event) => {
  const strict = toStrictAdk(event);
  expect(JSON.stringify(strict.customMetadata ?? {})).toContain('"eventloom":');
  expect(fromStrictAdk(strict)).toEqual(event);
  expect(fromStrictAdk(parseEvent(serializeEvent(strict)))).toEqual(event);
});

test('toStrictAdk and fromStrictAdk do not change their arguments', () => {
  const before = structuredClone(FULL);
  const strict = toStrictAdk(FULL);
  const strictBefore = structuredClone(strict);
  fromStrictAdk(strict);
  expect(FULL).toEqual(before);
  expect(strict).toEqual(strictBefore);
});

test('the fields of ADK 2 stay where its readers look for them', () => {
  const event = createEvent({
    output: { a_b: 1 },
    nodeInfo: { path: 'wf.child', messageAsOutput: true },
    isolationScope: 'wf.child@1',
    urlContextMetadata: { urlMetadata: [] },
  });
  const { output, nodeInfo, isolationScope } = event;
  expect(toStrictAdk(event)).toMatchObject({ output, nodeInfo, isolationScope });
  expect(toStrictAdk(event).urlContextMetadata).toBeUndefined();
  expect(fromStrictAdk(toStrictAdk(event))).toEqual(event);
});

test('the fields of ADK 2 are read in snake case, and an output keeps its keys', () => {
  const event = parseEvent({ output: { a_b: 1 }, node_info: { output_for: ['x'] }, isolation_scope: 's' });
  expect(event).toMatchObject({ output: { a_b: 1 }, nodeInfo: { outputFor: ['x'] }, isolationScope: 's' });
});
