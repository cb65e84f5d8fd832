import { describe, expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { type ExecutionNode, groupByExecution, toExecutionView } from './execution-view.ts';
import { fromExecutionView } from './fixtures/from-execution-view.ts';

/** An event of one execution, named `id` and started by `parent`, in request `invocationId`. */
function eventOf(id: string, executionId?: string, parentExecutionId?: string, invocationId = 'e-1'): Event {
  return createEvent({
    id,
    invocationId,
    ...(executionId === undefined ? {} : { executionId }),
    ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
  });
}

/** A tree as text: `execution[events](children)`. */
function draw(nodes: readonly ExecutionNode[]): string {
  return nodes
    .map(({ executionId, events, children }) => {
      const below = children.length > 0 ? `(${draw(children)})` : '';
      return `${executionId}[${events.map((event) => event.id).join()}]${below}`;
    })
    .join(' ');
}

function drawAll(events: readonly Event[]): string[] {
  return groupByExecution(events).map((request) => `${request.requestId}: ${draw(request.executions)}`);
}

describe('toExecutionView', () => {
  test('renames the ids', () => {
    const event = createEvent({
      invocationId: 'e-1',
      executionId: 'e-2',
      parentExecutionId: 'e-1',
      requestId: 'mine',
    });
    expect(toExecutionView(event)).toMatchObject({
      requestId: 'mine',
      invocationId: 'e-2',
      parentInvocationId: 'e-1',
      rootInvocationId: 'e-1',
    });
  });

  test('uses the invocation id as request id of an event without one', () => {
    const view = toExecutionView(createEvent({ invocationId: 'e-1' }));
    expect(view).toMatchObject({ requestId: 'e-1', invocationId: 'e-1', rootInvocationId: 'e-1' });
    expect(view).not.toHaveProperty('parentInvocationId');
  });

  test.each([
    createEvent({ invocationId: 'e-1', author: 'a' }),
    createEvent({ invocationId: 'e-1', executionId: 'e-1', requestId: 'mine' }),
    createEvent({ invocationId: 'e-1', requestId: 'e-1' }),
    createEvent({ invocationId: 'e-1', executionId: 'e-2', requestId: 'e-1' }),
    createEvent({ requestId: '' }),
    createEvent({ invocationId: 'e-1', executionId: 'e-2', parentExecutionId: 'e-1', tags: ['t'] }),
  ])('is reversed by fromExecutionView, and neither modifies its argument: %j', (event) => {
    const before = structuredClone(event);
    const view = toExecutionView(event);
    const viewBefore = structuredClone(view);
    expect(fromExecutionView(view)).toStrictEqual(event);
    expect(event).toEqual(before);
    expect(view).toEqual(viewBefore);
  });
});

describe('groupByExecution', () => {
  test('returns requests in order, each with its tree of executions', () => {
    const events = [
      eventOf('user', 'e-1'),
      eventOf('call', 'e-1'),
      eventOf('child', 'e-2', 'e-1'),
      eventOf('grandchild', 'e-3', 'e-2'),
      eventOf('child again', 'e-2', 'e-1'),
      eventOf('answer', 'e-1'),
      eventOf('next', 'e-9', undefined, 'e-9'),
    ];
    expect(drawAll(events)).toEqual([
      'e-1: e-1[user,call,answer](e-2[child,child again](e-3[grandchild]))',
      'e-9: e-9[next]',
    ]);
  });

  test('an event without execution belongs to the execution of its invocation', () => {
    expect(drawAll([eventOf('plain'), eventOf('own', 'e-1')])).toEqual(['e-1: e-1[plain,own]']);
  });

  test('a parent is found if it comes later or if only some events name it', () => {
    expect(drawAll([eventOf('child', 'e-2', 'e-1'), eventOf('root', 'e-1')])).toEqual(['e-1: e-1[root](e-2[child])']);
    expect(drawAll([eventOf('root', 'e-1'), eventOf('bare', 'e-2'), eventOf('child', 'e-2', 'e-1')])).toEqual([
      'e-1: e-1[root](e-2[bare,child])',
    ]);
  });

  test('an execution whose parent is not in the list is at the root', () => {
    expect(drawAll([eventOf('orphan', 'e-2', 'e-7')])).toEqual(['e-1: e-2[orphan]']);
  });

  test('separates requests with the same id by invocation', () => {
    const first = createEvent({ id: 'a', invocationId: 'e-1', requestId: 'mine' });
    const second = createEvent({ id: 'b', invocationId: 'e-2', requestId: 'mine' });
    expect(drawAll([first, second])).toEqual(['mine: e-1[a]', 'mine: e-2[b]']);
  });

  test('the same execution id in two requests gives two executions', () => {
    const events = [eventOf('a', 'x', undefined, 'e-1'), eventOf('b', 'x', undefined, 'e-2')];
    expect(drawAll([...events, eventOf('c', 'y', 'x', 'e-2')])).toEqual(['e-1: x[a]', 'e-2: x[b](y[c])']);
  });

  test.each([
    ['itself', [eventOf('a', 'x', 'x')], 'x[a]'],
    ['each other', [eventOf('a', 'x', 'y'), eventOf('b', 'y', 'x')], 'y[b](x[a])'],
    ['in a ring', [eventOf('a', 'x', 'y'), eventOf('b', 'y', 'z'), eventOf('c', 'z', 'x')], 'z[c](y[b](x[a]))'],
    [
      'in a ring with a tail',
      [eventOf('t', 'tail', 'x'), eventOf('a', 'x', 'y'), eventOf('b', 'y', 'x')],
      'y[b](x[a](tail[t]))',
    ],
  ])('executions that name %s as parents keep all their events', (_name, events, tree) => {
    expect(drawAll(events)).toEqual([`e-1: ${tree}`]);
  });

  test('every event is in exactly one node for any parent ids', () => {
    let seed = 7;
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 200; round++) {
      const events = Array.from({ length: 12 }, (_, at) =>
        eventOf(String(at), `x${next(6)}`, next(4) === 0 ? undefined : `x${next(7)}`, `e-${next(2)}`),
      );
      const seen: string[] = [];
      const walk = (nodes: readonly ExecutionNode[]): void => {
        for (const node of nodes) {
          for (const event of node.events) seen.push(event.id);
          walk(node.children);
        }
      };
      for (const request of groupByExecution(events)) walk(request.executions);
      expect(seen.toSorted()).toEqual(events.map((event) => event.id).toSorted());
    }
  });
});
