import { describe, expect, test } from 'vitest';
import type { FunctionCall } from '../content/content.ts';
import { createEvent, type EventParams } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { EventTag } from '../event/event-tags.ts';
import { INTERRUPTED_AT_END, INTERRUPTED_CALL } from '../tool/reserved-calls.ts';
import { answerOf, type SessionCall, Calls, lacksResult, unsettledRequests, stateOf } from './calls.ts';

const RUN = { invocationId: 'e-1' };

function calling(calls: readonly (string | FunctionCall)[], params: EventParams = {}): Event {
  const parts = calls.map((call) => ({ functionCall: typeof call === 'string' ? { id: call, name: 'look' } : call }));
  return createEvent({ ...RUN, author: 'bot', content: { role: 'model', parts }, ...params });
}

/** A call whose response may come in a later run. */
const waiting = (id: string, params: EventParams = {}): Event => calling([id], { longRunningToolIds: [id], ...params });

function responding(id: string, result: unknown, params: EventParams = {}): Event {
  const parts = [{ functionResponse: { id, name: 'look', response: { result } } }];
  return createEvent({ ...RUN, author: 'bot', content: { role: 'user', parts }, ...params });
}

const asking = (id: string, functionCallId?: string): Event =>
  calling([{ id, name: 'adk_request_input', args: functionCallId === undefined ? {} : { functionCallId } }], {
    longRunningToolIds: [id],
  });

const begun = createEvent({ ...RUN, author: 'user', actions: { agentState: { resumable: true } } });
const ended = createEvent({ ...RUN, author: 'app', object: 'runner.end' });

const resultsOf = (call: SessionCall | undefined): unknown[] | undefined =>
  call?.responses.map(({ response }) => response['result']);
const read = (...events: Event[]): unknown[] => new Calls(events).all.map(resultsOf);

describe('a response belongs to', () => {
  test('the newest earlier call with its id', () => {
    expect(read(calling(['c']), responding('c', 1), calling(['c']), responding('c', 2))).toEqual([[1], [2]]);
    expect(read(responding('c', 1), calling(['c']))).toEqual([[]]);
  });

  test('a call on its branch', () => {
    const events = [calling(['c'], { branch: 'x' }), calling(['c'], { branch: 'y' })];
    expect(read(...events, responding('c', 1, { branch: 'x' }))).toEqual([[1], []]);
    expect(read(...events, responding('c', 1, { branch: 'z' }))).toEqual([[], []]);
  });

  test('a call of its own run, even if another run has repeated the id since', () => {
    const other = { invocationId: 'e-2' };
    expect(read(calling(['c']), calling(['c'], other), responding('c', 1))).toEqual([[1], []]);
    expect(read(calling(['c']), responding('c', 1, other))).toEqual([[1]]);
    expect(read(calling(['c']), responding('c', 1, other), calling(['c'], other))).toEqual([[1], []]);
  });

  test('a call on any branch if it has no branch, except calls of an agent that runs as a tool', () => {
    expect(read(calling(['c'], { branch: 'x' }), responding('c', 1))).toEqual([[1]]);
    expect(read(calling(['c']), calling(['c'], { branch: 'x' }), responding('c', 1))).toEqual([[1], []]);
    expect(read(calling(['c'], { branch: 'helper@c1' }), responding('c', 1))).toEqual([[]]);
  });

  test('a call of a task that has a branch of its own, on the branch of its caller or on that of the task', () => {
    const task = { isolationScope: 'c1', branch: 'clerk@c1' };
    expect(read(calling(['c'], task), responding('c', 1), responding('c', 2, task))).toEqual([[1, 2]]);
    expect(read(calling(['c'], { ...task, branch: 'boss@c2.clerk@c1' }), responding('c', 1))).toEqual([[1]]);
    expect(read(calling(['c'], { ...task, branch: 'helper@c2' }), responding('c', 1))).toEqual([[]]);
    expect(new Calls([waiting('c', task)]).answerable(['c'])[0]).toMatchObject({ id: 'c', branch: undefined });
  });

  test('the call with its name if neither has an id', () => {
    const parts = [{ functionResponse: { name: 'look', response: { result: 1 } } }];
    const calls = calling([{ name: 'look' }, { name: 'find' }]);
    expect(read(calls, createEvent({ content: { parts } }))).toEqual([[1], []]);
  });
});

test('a call has all its responses, oldest first, each with its event and its index', () => {
  const responses = [responding('c', 1), responding('c', 2, { author: 'user' })];
  const [call] = new Calls([begun, calling(['c']), ...responses]).all;
  expect(call?.responses).toEqual([
    { event: responses[0], eventIndex: 2, response: { result: 1 } },
    { event: responses[1], eventIndex: 3, response: { result: 2 } },
  ]);
  expect(call?.eventIndex).toBe(1);
});

test('inReply contains all calls of one reply', () => {
  const calls = new Calls([calling(['a', 'b']), calling(['c'])]);
  expect(calls.all[1]?.inReply.map(({ id }) => id)).toEqual(['a', 'b']);
});

test('respondedIn returns the calls to which the responses of an event belong', () => {
  const response = responding('c', 1);
  const calls = new Calls([calling(['c']), calling(['d']), response]);
  expect(calls.respondedIn(response)).toEqual([calls.all[0]]);
  expect(calls.respondedIn(begun)).toEqual([]);
});

test('Calls ignores a partial event', () => {
  expect(read(calling(['c'], { partial: true }), calling(['c']), responding('c', 1, { partial: true }))).toEqual([[]]);
});

describe('a request to a person', () => {
  test('belongs to the newest earlier call that it names, and its responses are the answers', () => {
    const calls = new Calls([calling(['c']), calling(['c']), asking('q', 'c'), responding('q', 'yes')]);
    const [first, second, request] = calls.all;
    expect(request?.about).toBe(second);
    expect([first, second].map((call) => call?.requests)).toEqual([[], [request]]);
    expect(resultsOf(request)).toEqual(['yes']);
  });

  test('is settled with the second response to its call since it was made: the first one says that the call waits', () => {
    const open = (...events: Event[]) => new Calls(events).all.flatMap(unsettledRequests).map(({ id }) => id);
    const events = [calling(['c']), responding('c', 'earlier'), asking('q', 'c'), responding('c', 'waits')];
    expect(open(...events)).toEqual(['q']);
    expect(open(...events, responding('q', 'yes'))).toEqual(['q']);
    expect(open(...events, responding('c', 'result'))).toEqual([]);
  });

  test('of an agent belongs to no call', () => {
    expect(new Calls([asking('q')]).all.map(({ about }) => about)).toEqual([undefined]);
  });
});

test('a call lacks its result while only its tool responded, and not once the runtime said that it was interrupted', () => {
  const lacksItsResult = (response: Record<string, unknown>): boolean => {
    const parts = [{ functionResponse: { id: 'c', name: 'look', response } }];
    const event = createEvent({ ...RUN, author: 'bot', content: { role: 'user', parts } });
    return new Calls([waiting('c'), event]).all.some(lacksResult);
  };
  expect(lacksItsResult({ status: 'printing' })).toBe(true);
  expect(lacksItsResult({ error: 'interrupted', message: 'The printer has no paper.' })).toBe(true);
  expect(lacksItsResult(INTERRUPTED_CALL)).toBe(false);
  expect(lacksItsResult(INTERRUPTED_AT_END)).toBe(false);
});

describe('the state of a call is', () => {
  const statesOf = (...events: Event[]) => new Calls(events).all.map(stateOf);

  test('open until it has a response, and then done', () => {
    expect(statesOf(calling(['c']), waiting('d'))).toEqual(['open', 'open']);
    expect(statesOf(calling(['c']), responding('c', 1))).toEqual(['done']);
  });

  test('asked while a request to a person about it has no answer, decided until it has its result, and then done', () => {
    const events = [calling(['c']), asking('q', 'c'), asking('r', 'c')];
    expect(statesOf(...events)).toEqual(['asked', 'open', 'open']);
    events.push(responding('c', 'waits'), responding('q', 'yes'));
    expect(statesOf(...events)).toEqual(['asked', 'done', 'open']);
    events.push(responding('r', 'yes'));
    expect(statesOf(...events)).toEqual(['decided', 'done', 'done']);
    events.push(responding('c', 'result'));
    expect(statesOf(...events)).toEqual(['done', 'done', 'done']);
  });

  test('asked again with a further request, which leaves the earlier one closed', () => {
    const asked = [calling(['c']), asking('q', 'c'), responding('c', 'waits'), responding('q', 'yes')];
    const again = [...asked, asking('r', 'c'), responding('c', 'waits')];
    expect(statesOf(...again)).toEqual(['asked', 'done', 'open']);
    expect(new Calls(again).all.flatMap(unsettledRequests).map(({ id }) => id)).toEqual(['r']);
  });
});

test('the answer to a call is the newest response by a user, not a status of its tool', () => {
  const answers = (...events: Event[]) => new Calls(events).all.map((call) => answerOf(call)?.response['result']);
  const user = { author: 'user' };
  expect(answers(waiting('c'), responding('c', 'status'))).toEqual([undefined]);
  expect(answers(waiting('c'), responding('c', 1, user), responding('c', 2, user), responding('c', 'status'))).toEqual([
    2,
  ]);
});

test('a newer call with the same id and branch replaces a call', () => {
  const calls = new Calls([calling(['c']), calling(['c'], { branch: 'x' }), calling(['c'])]);
  expect(calls.all.map((call) => calls.isReplaced(call))).toEqual([true, false, false]);
});

describe('unanswered calls of a run', () => {
  test('are its calls without a response, without requests to people', () => {
    const events = [calling(['a', 'b']), responding('a', 1), asking('q', 'b'), calling(['c'], { invocationId: 'e-2' })];
    expect(new Calls(events).unanswered('e-1').map(({ id }) => id)).toEqual(['b']);
  });

  test('do not include a call that the run repeated, unlike one that another run did', () => {
    const events = [calling(['a']), calling(['a'])];
    expect(new Calls(events).unanswered('e-1')).toHaveLength(1);
    expect(new Calls([...events, calling(['a'], { invocationId: 'e-2' })]).unanswered('e-1')).toHaveLength(1);
    expect(new Calls([...events, responding('a', 1)]).unanswered('e-1')).toEqual([]);
  });
});

describe('decided calls of a run', () => {
  const e2 = { invocationId: 'e-2' };
  const begun2 = createEvent({ ...e2, author: 'user', actions: { agentState: { resumable: true } } });
  const ended2 = createEvent({ ...e2, author: 'app', object: 'runner.end' });
  const asked = [begun, calling(['c']), asking('q', 'c'), responding('c', 'waits')];
  const decided = (invocationId: string, ...events: Event[]) =>
    new Calls([...asked, ...events]).decided(invocationId).map(({ event }) => event);

  test('have an answer to every request about them, and no result', () => {
    expect(decided('e-1')).toEqual([]);
    expect(decided('e-1', responding('q', 'yes'))).toEqual([asked[1]]);
    expect(decided('e-1', asking('r', 'c'), responding('q', 'yes'))).toEqual([]);
    expect(decided('e-1', responding('q', 'yes'), responding('c', 'result'))).toEqual([]);
    expect(decided('e-2', responding('q', 'yes'))).toEqual([]);
  });

  test('belong to the open run of the newest answer', () => {
    const events = [responding('q', 'yes'), begun2, responding('q', 'yes', e2)];
    expect(decided('e-1', ...events)).toEqual([]);
    expect(decided('e-2', ...events)).toEqual([asked[1]]);
    expect(decided('e-1', ...events, ended2)).toEqual([asked[1]]);
  });

  test('do not include a call that the run repeated', () => {
    expect(decided('e-1', responding('q', 'yes'), calling(['c']))).toEqual([]);
  });
});

test('long-running calls wait until they have a response', () => {
  const calls = new Calls([waiting('a'), calling(['b']), waiting('c'), responding('a', 1)]);
  expect(calls.waiting.map(({ id }) => id)).toEqual(['c']);
});

test('a long-running call no longer waits once a newer call with its id on its branch replaced it', () => {
  const later = { invocationId: 'e-2' };
  expect(new Calls([waiting('a'), waiting('a', later), responding('a', 1, later)]).waiting).toEqual([]);
  expect(new Calls([waiting('a'), waiting('a', { branch: 'x' })]).waiting).toHaveLength(2);
});

test('a resumable run is open until it ends', () => {
  expect(new Calls([begun, calling(['c'])]).canContinue('e-1')).toBe(true);
  expect(new Calls([begun, ended]).canContinue('e-1')).toBe(false);
  expect(new Calls([calling(['c'])]).canContinue('e-1')).toBe(false);
});

describe('a new response answers', () => {
  const placeOf = (call: SessionCall | undefined) =>
    call && [call.event.invocationId, call.event.branch, call.eventIndex];
  const found = (calls: Calls, id: string, invocationId?: string) => placeOf(calls.answerable([id], invocationId)[0]);

  test('the newest long-running call with its id, or the newest call with its id if none is long-running', () => {
    expect(found(new Calls([waiting('c'), waiting('c')]), 'c')).toEqual(['e-1', undefined, 1]);
    expect(found(new Calls([waiting('c', { branch: 'x' }), calling(['c'])]), 'c')).toEqual(['e-1', 'x', 0]);
    expect(found(new Calls([calling(['c']), calling(['c'])]), 'c')).toEqual(['e-1', undefined, 1]);
    expect(found(new Calls([calling(['c'])]), 'd')).toBeUndefined();
  });

  test('no call that a newer call on its branch replaced', () => {
    expect(found(new Calls([waiting('c'), calling(['c'])]), 'c')).toEqual(['e-1', undefined, 1]);
  });

  test('once each call without a response that one run made on several branches', () => {
    const events = ['x', 'y', 'z'].map((branch) => waiting('c', { branch }));
    const calls = new Calls([waiting('c', { invocationId: 'e-0' }), ...events, responding('c', 1, { branch: 'z' })]);
    expect(found(calls, 'c')).toEqual(['e-1', 'y', 2]);
    expect(calls.answerable(['c', 'c', 'c']).map(placeOf)).toEqual([
      ['e-1', 'y', 2],
      ['e-1', 'x', 1],
      ['e-1', 'z', 3],
    ]);
  });

  test('only calls of the given run', () => {
    const calls = new Calls([waiting('c'), waiting('c', { invocationId: 'e-2' })]);
    expect(found(calls, 'c', 'e-1')).toEqual(['e-1', undefined, 0]);
  });

  test('a cancelled call of an agent that ran as a tool only if no other call takes it, so that the error can say so', () => {
    const [first, second] = [{ branch: 'x@c' }, { branch: 'y@c', invocationId: 'e-2' }];
    const cancelled = [waiting('c', second), responding('c', 1, { ...second, tags: [EventTag.cancelled] })];
    expect(found(new Calls(cancelled), 'c')).toEqual(['e-2', 'y@c', 0]);
    expect(found(new Calls([begun, waiting('c', first), ...cancelled]), 'c')).toEqual(['e-1', 'x@c', 1]);
  });

  test('a call in a few steps per call, however many calls and responses share an id', () => {
    let looks = 0;
    const branches = Array.from({ length: 500 }, (_, at) => `b${at}`);
    const events = branches.map((branch) => waiting('c', { branch }));
    const watched = events.map(
      (event) =>
        new Proxy(event, {
          get(target, key) {
            looks++;
            return Reflect.get(target, key) as unknown;
          },
        }),
    );
    const calls = new Calls(watched);
    looks = 0;
    const answered = calls.answerable(branches.map(() => 'c'));
    expect(looks).toBeLessThan(20 * events.length);
    expect(answered.map(placeOf)).toEqual(calls.all.toReversed().map(placeOf));
  });

  test('no call from an imported session', () => {
    const calls = new Calls([waiting('c', { tags: [EventTag.imported] })]);
    expect(calls.all[0]?.isImported).toBe(true);
    expect(found(calls, 'c')).toBeUndefined();
  });

  test('a call of an agent that runs as a tool only while it waits in an open run', () => {
    const inside = { branch: 'helper@c1' };
    expect(found(new Calls([begun, waiting('c', inside)]), 'c')).toEqual(['e-1', 'helper@c1', 1]);
    expect(found(new Calls([begun, calling(['c'], inside)]), 'c')).toBeUndefined();
    expect(found(new Calls([begun, waiting('c', inside), ended]), 'c')).toBeUndefined();
  });

  test('a question of a workflow node that runs beside others, if the session has no run marks', () => {
    const asked = (branch: string, path: string) => new Calls([waiting('c', { branch, nodeInfo: { path } })]);
    expect(found(asked('ask@1', 'w.ask'), 'c')).toEqual(['e-1', 'ask@1', 0]);
    expect(found(asked('helper@c1.ask@1', 'helper.ask'), 'c')).toBeUndefined();
  });
});

describe('the call that a client means by an id', () => {
  const meant = (...events: Event[]): unknown => new Calls(events).meantBy('c')?.branch;

  test('is the one that waits, then the newest long-running one, then the newest one', () => {
    const asked = waiting('c', { branch: 'b' });
    const inner = calling(['c'], { branch: 'b@1' });
    expect(meant(calling(['c'], { branch: 'a' }), inner)).toBe('b@1');
    expect(meant(asked, inner)).toBe('b');
    expect(meant(waiting('c', { branch: 'a' }), asked, responding('c', 1, { branch: 'b' }), inner)).toBe('a');
    expect(meant(asked, responding('c', 1, { branch: 'b' }), inner)).toBe('b');
    expect(meant()).toBeUndefined();
  });
});

test('calls that only their waiting run could answer include one with the id of the call around the agent that waits', () => {
  const outer = calling(['c']);
  const inner = calling(['c'], { branch: 'a@c' });
  const events = [begun, outer, inner, waiting('q', { branch: 'a@c' })];
  expect(new Calls(events).unfinished('e-1').map(({ event }) => event)).toEqual([inner]);
});

describe('the calls around a call', () => {
  test('are those that run the agents on its branch as tools, outermost first, of its own run if they are in it', () => {
    const first = calling(['c'], { invocationId: 'first' });
    const outer = calling(['c']);
    const other = calling(['c'], { invocationId: 'other' });
    const inner = calling(['c'], { branch: 'a@c' });
    const innermost = calling(['c'], { branch: 'a@c.b@c' });
    const calls = new Calls([first, outer, other, inner, innermost, calling(['c'])]);
    const around = (event: Event): unknown => calls.madeIn(event).map((call) => calls.enclosing(call).map(eventOf));
    const eventOf = ({ event }: SessionCall): Event => event;
    expect(around(innermost)).toEqual([[outer, inner]]);
    expect(around(outer)).toEqual([[]]);
    expect(around(calling(['c'], { branch: 'a@unknown' }))).toEqual([]);
  });

  test('that opened its scope is the newest before it on its branch', () => {
    const openers = ['both.a', 'both.b'].map((branch) => calling(['s'], { branch }));
    const scoped = calling(['c'], { branch: 'both.a.task@s', isolationScope: 's' });
    const calls = new Calls([...openers, calling(['x'], { branch: 'both.a', isolationScope: 's' }), scoped]);
    const [made] = calls.madeIn(scoped);
    expect(made && calls.opener(made)?.branch).toBe(made?.branch);
    const [, , at] = calls.all;
    expect(at && calls.opener(at)?.event).toBe(openers[0]);
  });
});

describe('the calls of a session', () => {
  const rewind = createEvent({ author: 'user', actions: { rewindBeforeInvocationId: 'e-2' } });
  const second = { invocationId: 'e-2' };

  test('do not include rewound calls, and keep their indexes', () => {
    const events = [calling(['a']), responding('a', 1), calling(['b'], second), responding('a', 2, second), rewind];
    const calls = new Calls([...events, calling(['c'])]);
    expect(calls.all.map(({ id, eventIndex }) => [id, eventIndex])).toEqual([
      ['a', 0],
      ['c', 5],
    ]);
    expect(resultsOf(calls.all[0])).toEqual([1]);
  });

  test('are read once, and afterwards only from added events', () => {
    const derived = new Map<unknown, never>();
    const events = [calling(['a'])];
    const calls = Calls.of({ session: { events }, derived });
    const [first] = calls.all;
    events.push(responding('a', 1), calling(['b']));
    expect(Calls.of({ session: { events }, derived })).toBe(calls);
    expect(calls.all.map(({ id, eventIndex }) => [id, eventIndex])).toEqual([
      ['a', 0],
      ['b', 2],
    ]);
    expect(calls.all[0]).toBe(first);
    expect(resultsOf(first)).toEqual([1]);
  });

  test('are read again after a rewind', () => {
    const derived = new Map<unknown, never>();
    const events = [begun, calling(['a'], second)];
    const calls = Calls.of({ session: { events }, derived });
    events.push(rewind);
    expect(Calls.of({ session: { events }, derived }).all).toEqual([]);
    expect(calls.meantBy('a')).toBeUndefined();
    expect(calls.canContinue('e-1')).toBe(true);
    events.push(calling(['b']));
    const [first] = Calls.of({ session: { events }, derived }).all;
    expect(first?.id).toBe('b');
  });

  test('are read again only once after a rewind', () => {
    const calls = new Calls();
    const events = [calling(['a']), calling(['b'], second), rewind];
    calls.update(events);
    const [first] = calls.all;
    events.push(calling(['c']));
    calls.update(events);
    expect(calls.all[0]).toBe(first);
  });

  test('are found in one step per event, however many calls share an id', () => {
    let looks = 0;
    const events = Array.from({ length: 2000 }, (_, at) => (at % 2 === 0 ? calling(['c']) : responding('c', at)));
    const watched = events.map(
      (event) =>
        new Proxy(event, {
          get(target, key) {
            if (key === 'content') looks++;
            return Reflect.get(target, key) as unknown;
          },
        }),
    );
    const calls = new Calls();
    for (const event of watched) calls.add(event);
    expect(calls.all.every(({ responses }) => responses.length === 1)).toBe(true);
    expect(looks).toBe(watched.length);
  });
});

test('unanswered calls are found without a look at the answered calls of a long session', () => {
  let looks = 0;
  const counted = (event: Event): Event =>
    Object.defineProperty({ ...event }, 'invocationId', {
      get: () => {
        looks++;
        return 'e-0';
      },
    });
  const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
  const calls = new Calls([...ids.flatMap((id) => [counted(calling([id])), responding(id, 1)]), calling(['last'])]);
  looks = 0;
  expect(calls.unanswered('e-1').map(({ id }) => id)).toEqual(['last']);
  expect(looks).toBe(0);
});

test('long-running calls of a run are found without a look at those of other runs', () => {
  let looks = 0;
  const counted = (event: Event): Event =>
    Object.defineProperty({ ...event }, 'invocationId', {
      get: () => {
        looks++;
        return 'e-0';
      },
    });
  const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
  const calls = new Calls([
    ...ids.map((id) => counted(waiting(id, {}))),
    waiting('question', {}),
    calling(['other']),
    responding('question', 2),
  ]);
  looks = 0;
  expect(calls.longRunningIn('e-1').map(({ id, responses }) => [id, responses.length])).toEqual([['question', 1]]);
  expect(calls.longRunningIn('e-0').map(({ id }) => id)).toEqual(ids);
  expect(looks).toBe(0);
});
