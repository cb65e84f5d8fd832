import { createEvent, type Event } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { type Conversation, emptyConversation, endRun, reduceEvents } from './index.ts';

let count = 0;

function event(fields: Partial<Event> & { readonly author: string }): Event {
  return createEvent({ id: `event-${++count}`, invocationId: 'e-1', timestamp: count, ...fields });
}

const text = (author: string, value: string, more: Partial<Event> = {}): Event =>
  event({ author, content: { parts: [{ text: value }] }, ...more });
const chunk = (value: string, responseId: string, more: Partial<Event> = {}): Event =>
  text('helper', value, { partial: true, responseId, ...more });
const call = (id: string, name: string, args = {}, more: Partial<Event> = {}): Event =>
  event({ author: 'helper', content: { parts: [{ functionCall: { id, name, args } }] }, ...more });
const response = (id: string, name: string, value: Record<string, unknown>, more: Partial<Event> = {}): Event =>
  event({ author: 'helper', content: { parts: [{ functionResponse: { id, name, response: value } }] }, ...more });

const reduce = (...events: readonly Event[]): Conversation => reduceEvents(emptyConversation, events);
const shown = ({ messages }: Conversation): string[] =>
  messages.map(({ author, parts, status }) => {
    const said = parts.map((part) => ('text' in part ? part.text : part.type)).join('|');
    return `${author}: ${said}${status === 'complete' ? '' : ` (${status})`}`;
  });

describe('an agent that is called as a tool', () => {
  const inner = { author: 'auditor', branch: 'desk.auditor@c1' };
  const nested = { author: 'checker', branch: 'desk.auditor@c1.checker@c2' };
  const events = (tags: readonly string[]): readonly Event[] => [
    text('user', 'Refund me.'),
    call('c1', 'auditor', {}, { branch: 'desk' }),
    event({ author: 'desk', branch: inner.branch, object: 'agent.input', tags: [...tags] }),
    text('auditor', 'A fraud?', inner),
    call('c2', 'checker', {}, inner),
    text('checker', 'No.', nested),
    event({ ...inner, errorCode: 'MAX_TOKENS', actions: { stateDelta: { risk: 1 }, artifactDelta: {} } }),
    response('c1', 'auditor', { result: 'fine' }, { branch: 'desk' }),
    text('auditor', 'I may speak.', { branch: 'desk.auditor@c10' }),
  ];

  test('is hidden in a session that is read if the stream of its run did not show it, and its state is not', () => {
    const read = reduce(...events(['not_streamed']));
    expect(shown(read)).toEqual(['user: Refund me.', 'helper: call', 'auditor: I may speak.']);
    expect(read.messages[1]?.parts).toMatchObject([{ status: 'completed' }]);
    expect(read.state).toEqual({ risk: 1 });
    // Events of one run may be read one after the other.
    expect(
      shown(events(['not_streamed']).reduce((each, next) => reduceEvents(each, [next]), emptyConversation)),
    ).toEqual(shown(read));
  });

  test('is shown if the stream showed it', () => {
    expect(shown(reduce(...events([])))).toEqual([
      'user: Refund me.',
      'helper: call',
      'auditor: A fraud?',
      'auditor: call',
      'checker: No.',
      'auditor: error',
      'auditor: I may speak.',
    ]);
  });

  test('is shown with its requests to the person', () => {
    const asks = call('c3', 'approve', {}, { ...inner, longRunningToolIds: ['c3'] });
    const read = reduce(...events(['not_streamed']), asks);
    expect(shown(read).at(-1)).toBe('auditor: call');
    expect(read.requests).toMatchObject([{ id: 'c3', kind: 'call' }]);
  });
});

describe('text', () => {
  test('grows with the chunks of a reply, under one id, until the whole reply replaces them', () => {
    const chunks = [chunk('Blue', 'r1'), chunk(' sky', 'r1')];
    const growing = reduce(text('user', 'Hi'), ...chunks);
    expect(shown(growing)).toEqual(['user: Hi', 'helper: Blue sky (streaming)']);
    const whole = reduceEvents(growing, [text('helper', 'Blue sky.', { responseId: 'r1' })]);
    expect(shown(whole)).toEqual(['user: Hi', 'helper: Blue sky.']);
    expect(whole.messages[1]?.id).toBe(growing.messages[1]?.id);
    expect(whole.progress.open.size).toBe(0);
  });

  test('does not contain thoughts, which are separate', () => {
    const thought = event({
      author: 'helper',
      partial: true,
      responseId: 'r1',
      content: { parts: [{ text: 'Hm', thought: true }] },
    });
    expect(reduce(thought, chunk('Blue', 'r1')).messages[0]?.parts).toEqual([
      { type: 'thought', text: 'Hm' },
      { type: 'text', text: 'Blue' },
    ]);
  });

  test('of a reply that a resumed run repeats replaces the unfinished one', () => {
    expect(shown(reduce(chunk('Blu', 'r1'), chunk('Red', 'r2')))).toEqual(['helper: Red (streaming)']);
  });

  test('of an agent in a branch that a resumed run repeats in another execution replaces the unfinished one', () => {
    const first = { branch: 'both.helper', executionId: 'x1' };
    const second = { branch: 'both.helper', executionId: 'x2', responseId: 'r2' };
    const resumed = reduce(chunk('Blu', 'r1', first), chunk('Bl', 'r2', second));
    expect(shown(resumed)).toEqual(['helper: Bl (streaming)']);
    const whole = [text('helper', 'Blue.', second)];
    expect(shown(reduceEvents(resumed, whole))).toEqual(['helper: Blue.']);
    expect(shown(reduceEvents(reduce(chunk('Blu', 'r1', first)), whole))).toEqual(['helper: Blue.']);
  });

  test('of agents that stream at the same time is kept apart', () => {
    const left = chunk('L', 'r1', { branch: 'both.left', executionId: 'x1' });
    const right = chunk('R', 'r2', { branch: 'both.right', executionId: 'x2' });
    const more = chunk('L', 'r1', { branch: 'both.left', executionId: 'x1' });
    expect(shown(reduce(left, right, more))).toEqual(['helper: LL (streaming)', 'helper: R (streaming)']);
  });

  test('of agents side by side has the order of the session once it is whole', () => {
    const of = (author: string) => ({ author, branch: `all.${author}`, responseId: author });
    const [a, b, c] = [of('a'), of('b'), of('c')];
    const ends = [
      text('c', 'cc', c),
      call('c1', 'look', {}, { author: 'd', branch: 'all.d' }),
      text('a', 'aa', a),
      text('b', 'bb', b),
    ];
    const streaming = reduce(text('user', 'Hi'), ...[a, b, c].map((each) => chunk(each.author, each.author, each)));
    expect(shown(streaming)).toEqual(['user: Hi', ...['a', 'b', 'c'].map((name) => `${name}: ${name} (streaming)`)]);
    expect(shown(reduceEvents(streaming, ends.slice(0, 2)))).toEqual([
      'user: Hi',
      'c: cc',
      'd: call',
      'a: a (streaming)',
      'b: b (streaming)',
    ]);
    const whole = reduceEvents(streaming, ends);
    expect(shown(whole)).toEqual(shown(reduce(text('user', 'Hi'), ...ends)));
    // Messages of other runs and of the person are not passed.
    const others = [
      chunk('old', 'r1', { invocationId: 'e-0' }),
      chunk('I sa', 'r2', { author: 'user' }),
      text('user', 'New?', { invocationId: 'e-2' }),
    ];
    expect(shown(reduce(...others, text('helper', 'Yes.')))).toEqual([
      'helper: old (streaming)',
      'user: I sa (streaming)',
      'user: New?',
      'helper: Yes.',
    ]);
    expect(shown(reduce(...others.slice(0, 2), text('helper', 'Yes.'))).at(-1)).toBe('helper: Yes.');
  });

  test('that an output schema refused has no error, because the agent answers again', () => {
    const refused = { errorCode: 'OUTPUT_SCHEMA', errorMessage: 'city: missing' };
    const attempts = [text('helper', '{}', { ...refused, responseId: 'r1' }), text('helper', '', refused)];
    const repaired = [...attempts, text('helper', '{"city":"Rome"}')];
    expect(shown(reduce(...repaired))).toEqual(['helper: {} (interrupted)', 'helper: {"city":"Rome"}']);
    expect(shown(reduce(chunk('{', 'r1'), ...repaired))).toEqual(shown(reduce(...repaired)));
    const failed = event({ author: 'helper', ...refused });
    expect(shown(reduce(...attempts, failed))).toEqual(['helper: {} (interrupted)', 'helper: error']);
  });

  test('is interrupted when the run ends without the whole reply', () => {
    expect(shown(endRun(reduce(chunk('Blu', 'r1'))))).toEqual(['helper: Blu (interrupted)']);
  });

  test('continues after the end of a run that is then followed again', () => {
    const chunks = [chunk('Bl', 'r1'), chunk('u', 'r1')];
    const ended = endRun(reduce(...chunks));
    expect(endRun(ended)).toBe(ended);
    const followed = reduceEvents(ended, [...chunks, chunk('e', 'r1')]);
    expect(shown(followed)).toEqual(['helper: Blue (streaming)']);
    expect(shown(reduceEvents(followed, [text('helper', 'Blue.', { responseId: 'r1' })]))).toEqual(['helper: Blue.']);
  });

  test('that was streamed before an error stays before it, also in the stored event', () => {
    const error = { errorCode: 'MODEL', errorMessage: 'no' };
    const failed = reduce(chunk('Blu', 'r1'), event({ author: 'helper', ...error }));
    expect(shown(failed)).toEqual(['helper: Blu|error (interrupted)']);
    expect(shown(reduce(text('helper', 'Blu', error)))).toEqual(shown(failed));
    expect(shown(reduce(event({ author: 'helper', ...error })))).toEqual(['helper: error']);
  });

  test('of an agent in a node of a graph is shown once, live and when the session is read', () => {
    const agent = { author: 'writer', branch: 'writer@1-0', executionId: 'x2', responseId: 'r1' };
    const chunks = [chunk('Blue', 'r1', agent), chunk(' sky', 'r1', agent)];
    const whole = event({ ...agent, id: 'whole' });
    const output = text('node', 'Blue sky', { executionId: 'x1', responseId: 'r1' });
    const live = reduce(...chunks, whole);
    expect(shown(live)).toEqual(['writer: Blue sky']);
    const stored = [text('writer', 'Blue sky', { ...agent, id: 'whole' }), output];
    for (const read of [reduceEvents(live, [output]), reduce(...stored), reduce(...chunks, whole, output, ...stored)])
      expect(shown(read)).toEqual(['writer: Blue sky']);
    // The agent may run where its events are not read.
    expect(shown(reduce(output))).toEqual(['node: Blue sky']);
  });

  test('of an agent in a node of a graph is shown once if the reply has no id, and the node names its event', () => {
    const agent = { author: 'writer', branch: 'writer@1-0', executionId: 'x2', id: 'whole' };
    const output = text('node', 'Blue sky', { executionId: 'x1', responseId: 'whole' });
    const outer = text('outer', 'Blue sky', { executionId: 'x0', responseId: 'whole' });
    expect(shown(reduce(text('writer', 'Blue sky', agent), output, outer))).toEqual(['writer: Blue sky']);
    // While the run is streamed, only the outermost node has the text.
    const { content: _, ...without } = output;
    const live = reduce(event(agent), without, outer);
    expect(shown(live)).toEqual(['outer: Blue sky']);
    expect(shown(reduceEvents(live, [text('writer', 'Blue sky', agent), output, outer]))).toEqual(shown(live));
  });

  test.each([
    [{ done: true }, 'done'],
    [{ error: 'no' }, 'done (interrupted)'],
  ])('of an agent that is called as a tool ends with the response %j of the tool', (result, reply) => {
    const inner = { author: 'inner', branch: 'inner@c%2E1', executionId: 'x2' };
    const other = { author: 'inner', branch: 'inner@c%2E12', executionId: 'x3' };
    const events = [
      call('c.1', 'inner'),
      chunk('do', 'r1', inner),
      chunk('ne', 'r1', inner),
      chunk('not yet', 'r2', other),
      response('c.1', 'inner', result),
    ];
    const ended = reduce(...events);
    expect(shown(ended)).toEqual(['helper: call', `inner: ${reply}`, 'inner: not yet (streaming)']);
    // The run is followed again.
    expect(shown(reduceEvents(ended, events))).toEqual(shown(ended));
    const stored = text('inner', 'Done.', { ...inner, responseId: 'r1' });
    expect(shown(reduceEvents(ended, [stored]))).toEqual([
      'helper: call',
      'inner: Done.',
      'inner: not yet (streaming)',
    ]);
  });

  test('of a whole reply stays unchanged when its chunks come again', () => {
    const whole = text('helper', 'Blue sky.', { responseId: 'r1' });
    expect(shown(reduce(whole, chunk('Blue', 'r1')))).toEqual(['helper: Blue sky.']);
  });

  test('of an event that comes twice is shown once', () => {
    const twice = text('helper', 'Hello');
    expect(shown(reduce(twice, twice))).toEqual(['helper: Hello']);
  });
});

describe('a message that did not change', () => {
  test('stays the same object', () => {
    const before = reduce(text('user', 'Hi'), chunk('Blue', 'r1'));
    const after = reduceEvents(before, [chunk(' sky', 'r1')]);
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[1]).not.toBe(before.messages[1]);
    expect(shown(before)).toEqual(['user: Hi', 'helper: Blue (streaming)']);
  });
});

test.each([
  ['of events that it has', [text('user', 'Hi')]],
  ['of chunks that a chat does not show', [event({ author: 'helper', partial: true, object: 'graph.node.start' })]],
  ['of chunks of the reply that is streamed', [chunk('Bl', 'r1'), chunk('ue', 'r1'), chunk('!', 'r1')]],
])('a conversation stays the same object after a repetition %s', (_, repeated) => {
  const before = reduceEvents(reduce(text('chief', 'Hello')), repeated);
  expect(reduceEvents(before, repeated)).toBe(before);
  expect(reduceEvents(before, repeated.slice(1))).toBe(before);
});

describe('a message of the user that is read after its run', () => {
  const run = (count: number): Event[] => {
    const fields = { invocationId: `run-${count}` };
    return [text('user', `question ${count}`, fields), text('helper', `answer ${count}`, fields)];
  };

  test('is placed before the messages of the run', () => {
    const [first, second] = [run(1), run(2)];
    const streamed = reduce(...first.slice(1), ...second.slice(1));
    expect(shown(streamed)).toEqual(['helper: answer 1', 'helper: answer 2']);
    expect(shown(reduceEvents(streamed, [...first, ...second]))).toEqual([
      'user: question 1',
      'helper: answer 1',
      'user: question 2',
      'helper: answer 2',
    ]);
  });

  test('stays behind an earlier one of the same time', () => {
    const said = ['one', 'two'].map((each) => text('user', each, { timestamp: 1 }));
    expect(shown(reduce(text('helper', 'answer', { timestamp: 2 }), ...said))).toEqual([
      'user: one',
      'user: two',
      'helper: answer',
    ]);
  });

  test('stays behind the messages of other runs, whatever the clock of the client says', () => {
    const late = text('user', 'Hi', { invocationId: 'local', timestamp: 0 });
    expect(shown(reduce(...run(1), late)).at(-1)).toBe('user: Hi');
  });
});

describe('a tool call', () => {
  test('runs, reports, and completes with its response', () => {
    const running = reduce(call('c1', 'look', { at: 'sky' }));
    expect(running.messages[0]?.parts[0]).toMatchObject({
      type: 'call',
      name: 'look',
      args: { at: 'sky' },
      status: 'running',
    });
    const progress = response('c1', 'look', { output: '50 %' }, { partial: true, object: 'tool.response' });
    const reporting = reduceEvents(running, [progress]);
    expect(reporting.messages[0]?.parts[0]).toMatchObject({ status: 'running', progress: ['50 %'] });
    expect(reduceEvents(reporting, [progress])).toBe(reporting);
    const done = reduceEvents(reporting, [response('c1', 'look', { color: 'blue' })]);
    expect(done.messages).toHaveLength(1);
    expect(done.messages[0]?.parts[0]).toMatchObject({ status: 'completed', response: { color: 'blue' } });
    // The run is followed again.
    expect(reduceEvents(done, [progress]).messages).toEqual(done.messages);
  });

  test('fails with a response that has an error', () => {
    const failed = reduce(call('c1', 'look'), response('c1', 'look', { error: 'dark' }));
    expect(failed.messages[0]?.parts[0]).toMatchObject({ status: 'failed' });
  });

  test('to be confirmed waits, and runs after the answer', () => {
    const request = call(
      'q1',
      'adk_request_confirmation',
      { originalFunctionCall: { id: 'c1', name: 'pay', args: { sum: 5 } }, toolConfirmation: { hint: 'Pay?' } },
      { longRunningToolIds: ['q1'] },
    );
    const asked = reduce(call('c1', 'pay', { sum: 5 }), request);
    expect(asked.messages).toHaveLength(1);
    expect(asked.messages[0]?.parts[0]).toMatchObject({ status: 'waiting' });
    expect(asked.requests).toEqual([
      {
        id: 'q1',
        name: 'adk_request_confirmation',
        kind: 'confirmation',
        invocationId: 'e-1',
        author: 'helper',
        callId: 'c1',
        message: 'Pay?',
        args: { sum: 5 },
      },
    ]);
    const answered = reduceEvents(asked, [
      response('q1', 'adk_request_confirmation', { confirmed: true }, { author: 'user' }),
    ]);
    expect(answered.requests).toEqual([]);
    expect(answered.messages[0]?.parts[0]).toMatchObject({ status: 'running' });
  });

  test('that a person did not confirm is rejected, and its time does not contain the wait', () => {
    const request = {
      id: 'q1',
      name: 'adk_request_confirmation',
      args: { originalFunctionCall: { id: 'c1', name: 'pay' } },
    };
    const asked = reduce(
      call('c1', 'pay'),
      event({ author: 'helper', content: { parts: [{ functionCall: request }] }, longRunningToolIds: ['q1'] }),
    );
    const answer = (confirmed: boolean): Event =>
      event({
        author: 'user',
        timestamp: 100,
        content: { parts: [{ functionResponse: { id: 'q1', name: request.name, response: { confirmed } } }] },
      });
    const rejection = response('c1', 'pay', { error: 'This tool call is rejected.' }, { timestamp: 102 });
    expect(reduceEvents(asked, [answer(false), rejection]).messages[0]?.parts[0]).toMatchObject({
      status: 'rejected',
      startedAt: 100,
      endedAt: 102,
    });
    const failure = response('c1', 'pay', { error: 'no money' }, { timestamp: 102 });
    expect(reduceEvents(asked, [answer(true), failure]).messages[0]?.parts[0]).toMatchObject({ status: 'failed' });
  });

  test('that is cancelled while it waits has failed, whichever response comes first', () => {
    const ask = call('q1', 'adk_request_input', { functionCallId: 'c1' }, { longRunningToolIds: ['q1'] });
    const cancelled = { error: 'cancelled' };
    const ends = [response('c1', 'pay', cancelled), response('q1', 'adk_request_input', cancelled)].map((each) => ({
      ...each,
      timestamp: 100,
    }));
    for (const order of [ends, ends.toReversed()]) {
      const { messages, requests } = reduce(call('c1', 'pay'), ask, ...order);
      expect(messages[0]?.parts[0]).toMatchObject({ status: 'failed', response: cancelled });
      expect(requests).toEqual([]);
    }
  });

  test('has the status waiting after its first response until it is run again with the answer', () => {
    const ask = call(
      'q1',
      'adk_request_credential',
      { functionCallId: 'c1', authConfig: {} },
      { longRunningToolIds: ['q1'] },
    );
    const asked = reduce(call('c1', 'login', {}), ask, response('c1', 'login', { error: 'requires a credential' }));
    expect(asked.requests).toHaveLength(1);
    expect(asked.messages[0]?.parts[0]).toMatchObject({ status: 'waiting' });
    const answered = reduceEvents(asked, [
      response('q1', 'adk_request_credential', {}, { author: 'user' }),
      response('c1', 'login', { ok: true }),
    ]);
    expect(answered.messages[0]?.parts[0]).toMatchObject({ status: 'completed', response: { ok: true } });
  });

  test('completes with its response also if the answer that it waited for is read later', () => {
    const ask = call('q1', 'adk_request_input', { functionCallId: 'c1' }, { longRunningToolIds: ['q1'] });
    const asking = response('c1', 'choose', { error: 'requires input' });
    const answer = response('q1', 'adk_request_input', { result: 1 }, { author: 'user' });
    const last = response('c1', 'choose', { ok: true });
    const followed = reduce(call('c1', 'choose', {}), ask, asking, last);
    expect(followed.requests).toHaveLength(1);
    expect(followed.messages[0]?.parts[0]).toMatchObject({ status: 'waiting' });
    const read = reduceEvents(followed, [answer, last]);
    expect(read.requests).toEqual([]);
    expect(read.messages[0]?.parts[0]).toMatchObject({ status: 'completed', response: { ok: true } });
  });

  test('gets the response of its own branch if several agents number their calls alike', () => {
    const of = (branch: string) => ({ author: branch, branch });
    const ask = (id: string, branch: string) =>
      call(id, 'adk_request_input', { functionCallId: 'c1' }, { ...of(branch), longRunningToolIds: [id] });
    const answer = response('q-fast', 'adk_request_input', { result: 1 }, { author: 'user' });
    const made = reduce(call('c1', 'look', {}, of('fast')), call('c1', 'look', {}, of('slow')));
    const asked = reduceEvents(made, [ask('q-fast', 'fast'), ask('q-slow', 'slow')]);
    const statuses = ({ messages }: Conversation) =>
      messages.map(({ parts: [part] }) => (part?.type === 'call' ? part.status : ''));
    expect(statuses(asked)).toEqual(['waiting', 'waiting']);
    const answered = reduceEvents(asked, [answer]);
    expect(statuses(answered)).toEqual(['running', 'waiting']);
    const ended = reduceEvents(answered, [response('c1', 'look', { of: 'fast' }, of('fast'))]);
    expect(statuses(ended)).toEqual(['completed', 'waiting']);
    expect(ended.requests.map(({ id }) => id)).toEqual(['q-slow']);
  });

  test('that is long-running is a request until the client sends its response', () => {
    const asked = reduce(call('c1', 'approve', { sum: 5 }, { longRunningToolIds: ['c1'] }));
    expect(asked.requests).toMatchObject([{ id: 'c1', kind: 'call', args: { sum: 5 } }]);
    expect(reduceEvents(asked, [response('c1', 'approve', { ok: true }, { author: 'user' })]).requests).toEqual([]);
  });

  test('that is long-running waits after the first status that its tool returned, until its result comes', () => {
    const branch = { branch: 'desk', longRunningToolIds: ['c1'] };
    const begun = reduce(
      call('c1', 'order', {}, branch),
      response('c1', 'order', { status: 'ordered' }, { branch: 'desk' }),
      text('helper', 'It is ordered.', { branch: 'desk' }),
    );
    expect(begun.requests).toEqual([]);
    expect(begun.messages[0]?.parts[0]).toMatchObject({
      status: 'waiting',
      response: { status: 'ordered' },
      startedAt: begun.messages[0]?.timestamp,
    });
    const result = { status: 'arrived' };
    const arrived = reduceEvents(begun, [response('c1', 'order', result, { author: 'user' })]);
    expect(arrived.messages[0]?.parts[0]).toMatchObject({ status: 'completed', response: result });
    const failed = reduceEvents(begun, [response('c1', 'order', { error: 'cancelled' }, { branch: 'desk' })]);
    expect(failed.messages[0]?.parts[0]).toMatchObject({ status: 'failed' });
  });

  test('that is long-running and was confirmed waits as well', () => {
    const ask = call(
      'q1',
      'adk_request_confirmation',
      { originalFunctionCall: { id: 'c1', name: 'order' } },
      { longRunningToolIds: ['q1'] },
    );
    const confirmed = reduce(
      call('c1', 'order', {}, { longRunningToolIds: ['c1'] }),
      ask,
      response('c1', 'order', { error: 'requires confirmation' }),
      response('q1', 'adk_request_confirmation', { confirmed: true }, { author: 'user' }),
      response('c1', 'order', { status: 'ordered' }),
    );
    expect(confirmed.messages[0]?.parts[0]).toMatchObject({ status: 'waiting', response: { status: 'ordered' } });
    expect(confirmed.requests).toEqual([]);
  });
});

describe('hand-overs', () => {
  test('are shown at their place, without their call', () => {
    const moved = reduce(
      call('c1', 'transfer_to_agent', { agent_name: 'billing' }),
      response(
        'c1',
        'transfer_to_agent',
        { result: 'Transfer queued' },
        { actions: { stateDelta: {}, artifactDelta: {}, transferToAgent: 'billing' } },
      ),
    );
    expect(moved.messages.map(({ parts }) => parts)).toEqual([[{ type: 'transfer', agentName: 'billing' }]]);
    expect(moved.activeAgent).toBe('billing');
  });
});

describe('state', () => {
  test('follows the events that are stored', () => {
    const set = (stateDelta: Record<string, unknown>, removedState?: string[]): Event =>
      event({
        author: 'helper',
        actions: { stateDelta, artifactDelta: {}, ...(removedState ? { removedState } : {}) },
      });
    expect(reduce(set({ a: 1, b: 2, 'temp:c': 3 }), set({ a: 4 }, ['b'])).state).toEqual({ a: 4 });
  });

  test('has keys such as __proto__ as its own', () => {
    const odd = JSON.parse('{"__proto__": {"x": 1}}') as Record<string, unknown>;
    const { state } = reduce(event({ author: 'helper', actions: { stateDelta: odd, artifactDelta: {} } }));
    expect(Object.keys(state)).toEqual(['__proto__']);
  });
});

describe('a rewind', () => {
  test('removes the messages and requests of the rewound runs', () => {
    const undone = reduce(
      text('user', 'one'),
      text('user', 'two', { invocationId: 'e-2' }),
      call('c1', 'approve', {}, { invocationId: 'e-2', longRunningToolIds: ['c1'] }),
      event({
        author: 'user',
        invocationId: 'e-3',
        actions: { stateDelta: {}, artifactDelta: {}, rewindBeforeInvocationId: 'e-2' },
      }),
    );
    expect(shown(undone)).toEqual(['user: one']);
    expect(undone.requests).toEqual([]);
  });

  test('returns the control to the agent that had it before', () => {
    const rewindTo = (rewindBeforeInvocationId: string): Event =>
      event({
        author: 'user',
        invocationId: `undo-${rewindBeforeInvocationId}`,
        actions: { stateDelta: {}, artifactDelta: {}, rewindBeforeInvocationId },
      });
    const transfer = (transferToAgent: string, invocationId: string): Event =>
      event({ author: 'chief', invocationId, actions: { stateDelta: {}, artifactDelta: {}, transferToAgent } });
    const moved = reduce(
      transfer('billing', 'e-1'),
      text('user', 'And?', { invocationId: 'e-2' }),
      text('billing', 'Paid.', { invocationId: 'e-2' }),
      transfer('support', 'e-3'),
    );
    expect(moved.activeAgent).toBe('support');
    const agents = ['e-3', 'e-2', 'e-1'].map((_each, index, all) =>
      reduceEvents(moved, all.slice(0, index + 1).map(rewindTo)),
    );
    expect(agents.map(({ activeAgent }) => activeAgent)).toEqual(['billing', 'billing', undefined]);
  });
});

test('events of several runs that arrive twice, their chunks included, change nothing', () => {
  const first = { invocationId: 'e-1' };
  const second = { invocationId: 'e-2' };
  const events = [
    text('user', 'one', first),
    call('c1', 'look', {}, { ...first, longRunningToolIds: ['c1'] }),
    text('user', 'two', second),
    chunk('Yes', 'r1', second),
    text('helper', 'Yes.', { ...second, responseId: 'r1', actions: { stateDelta: { a: 1 }, artifactDelta: {} } }),
    // Another run of the same model, whose replies have the same ids.
    chunk('No', 'r1', { invocationId: 'e-3' }),
  ];
  const once = reduce(...events.slice(0, 5));
  expect(reduceEvents(once, events.slice(0, 5))).toEqual(once);
  expect(shown(reduce(...events, ...events.slice(0, 5)))).toEqual([...shown(once), 'helper: No (streaming)']);
  expect(once.messages).toHaveLength(4);
  // The conversations before are not changed.
  expect(reduceEvents(reduce(), events.slice(0, 5))).toEqual(once);
  expect(emptyConversation.progress.seen.size).toBe(0);
});

test('conversations that continue an earlier one in different ways do not know of each other', () => {
  const before = reduce(text('user', 'Hi'), chunk('Blue', 'r1'));
  const [one, two] = [chunk(' sky', 'r1'), text('helper', 'Blue sea.', { responseId: 'r1' })];
  const first = reduceEvents(before, [one, two]);
  expect(shown(first)).toEqual(['user: Hi', 'helper: Blue sea.']);
  expect(shown(reduceEvents(before, [one]))).toEqual(['user: Hi', 'helper: Blue sky (streaming)']);
  expect(shown(reduceEvents(before, [two]))).toEqual(['user: Hi', 'helper: Blue sea.']);
  expect(reduceEvents(first, [two, one])).toBe(first);
});

test('an event is added to the ids of the events before it without a copy of them', () => {
  let conversation = reduce(text('user', 'Hi'));
  const { seen } = conversation.progress;
  for (let index = 0; index < 10; index++) conversation = reduceEvents(conversation, [chunk('x', 'r1')]);
  expect(conversation.progress.seen.numbers).toBe(seen.numbers);
  expect([seen.size, conversation.progress.seen.size]).toEqual([3, 13]);
});

describe('a voice call', () => {
  test('shows transcriptions as they grow, and no audio', () => {
    const heard = (value: string, finished: boolean): Event =>
      event({ author: 'user', inputTranscription: { text: value, finished }, ...(finished ? {} : { partial: true }) });
    const audio = event({
      author: 'helper',
      content: { parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AA==' } }] },
    });
    const growing = reduce(heard('Are you ', false), heard('open?', false), audio);
    expect(shown(growing)).toEqual(['user: Are you open? (streaming)']);
    expect(shown(reduceEvents(growing, [heard('Are you open?', true)]))).toEqual(['user: Are you open?']);
  });

  test('marks the reply that the user interrupted', () => {
    const said = (value: string, more: Partial<Event>): Event =>
      event({ author: 'helper', outputTranscription: { text: value, finished: more.partial !== true }, ...more });
    const cut = reduce(
      said('Yes, ', { partial: true }),
      said('Yes, ', { interrupted: true }),
      event({ author: 'helper', interrupted: true }),
    );
    expect(shown(cut)).toEqual(['helper: Yes,  (interrupted)']);
  });
});
