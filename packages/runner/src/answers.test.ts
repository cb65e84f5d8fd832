import { createEvent, type Event } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { fixedPlatform, functionCallEvent, functionResponseEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { matchAnswers } from './answers.ts';
import { answeredRun } from './answered-run.ts';

/** Returns events that count how often their content is read. */
function counted(events: readonly Event[]): { readonly events: readonly Event[]; readonly looks: () => number } {
  let looks = 0;
  const get = (event: Event, key: keyof Event): unknown => {
    if (key === 'content') looks++;
    return event[key];
  };
  const watched = events.map((event) => new Proxy(event, { get: (target, key) => get(target, key as keyof Event) }));
  return { events: watched, looks: () => looks };
}

test('matching many answers reads each event once', async () => {
  const ids = Array.from({ length: 200 }, (_, at) => `c${at}`);
  const calls = ids.map((id) => functionCallEvent('a', [{ id, name: 'ask' }], { longRunningToolIds: [id] }));
  const said = ids.map(() => createEvent({ author: 'user', content: { role: 'user', parts: [{ text: 'x' }] } }));
  const { events, looks } = counted([...calls, ...said]);
  const parts = ids.map((id) => ({ functionResponse: { id, response: {} } }));
  const platform = fixedPlatform();
  const matched = await matchAnswers(
    { role: 'user', parts },
    { events, calls: new Calls(events), platform, requestTtlMs: undefined, credentialService: undefined },
  );
  expect(matched.calls.map(({ id }) => id)).toEqual(ids);
  expect(answeredRun(new Calls(events), ids)).toBeUndefined();
  expect(looks()).toBeLessThan(5 * events.length);
});

test('answers to calls with the same id match one call after the other on each branch, without replaced calls', async () => {
  const call = (id: string, branch: string, invocationId = 'e-1'): Event => ({
    ...functionCallEvent('a', [{ id: 'c', name: 'ask' }], { longRunningToolIds: ['c'] }),
    id,
    branch,
    invocationId,
  });
  const events = [
    call('old', 'x', 'e-0'),
    call('replaced', 'x'),
    call('x', 'x'),
    call('y', 'y'),
    call('z', 'z'),
    { ...functionResponseEvent('user', [{ id: 'c', name: 'ask', response: {} }]), branch: 'y' },
  ];
  const answer = { functionResponse: { id: 'c', response: {} } };
  const { calls } = await matchAnswers(
    { role: 'user', parts: [answer, answer] },
    {
      events,
      calls: new Calls(events),
      platform: fixedPlatform(),
      requestTtlMs: undefined,
      credentialService: undefined,
    },
  );
  expect(calls.map(({ event }) => event.id)).toEqual(['z', 'x']);
});
