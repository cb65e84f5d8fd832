import { type Content, createEvent, type Event, type EventParams, type Part } from '@eventloom/core';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ContentsBuilder } from './contents-builder.ts';
import { seededRandom } from '../../../testing/src/seeded-random.ts';

/** A history with late, repeated and lost responses, rewinds, summaries, speech, other agents and branches. */
function historyOf(seed: number, length: number): Event[] {
  const random = seededRandom(seed);
  const upTo = (count: number): number => Math.floor(random() * count);
  const pick = <T>(items: readonly T[]): T => items[upTo(items.length)] as T;
  const ids: string[] = [];
  const events: Event[] = [];
  let invocation = 0;

  for (let at = 0; at < length; at++) {
    const author = pick(['bot', 'bot', 'bot', 'guide']);
    const extras: EventParams = {
      invocationId: `i${invocation}`,
      timestamp: at,
      ...pick([{}, {}, {}, { branch: 'a' }, { branch: 'b' }]),
    };
    const makers: (() => Event)[] = [
      () => userEvent(`user ${at}`, { ...extras, invocationId: `i${++invocation}` }),
      () => modelEvent(author, `said ${at}`, extras),
      () => modelEvent(author, [{ text: `thought ${at}`, thought: true }], extras),
      () => createEvent({ ...extras, author: 'user', inputTranscription: { text: `heard ${at}` } }),
      () => createEvent({ ...extras, author, outputTranscription: { text: `spoken ${at}` } }),
      () => createEvent({ ...extras, author, content: { parts: [{ text: 'chunk' }] }, partial: true }),
      () => {
        const made = Array.from({ length: 1 + upTo(3) }, () =>
          ids.length > 0 && upTo(6) === 0 ? pick(ids) : `${pick(['adk-', 'c'])}${at}-${upTo(99)}`,
        );
        const unique = [...new Set(made)];
        ids.push(...unique);
        return functionCallEvent(
          author,
          unique.map((id) => ({ id, name: 'f', args: { at } })),
          extras,
        );
      },
      () => {
        const known = Array.from({ length: 1 + upTo(2) }, () => (ids.length > 0 && upTo(8) > 0 ? pick(ids) : 'lost'));
        return functionResponseEvent(
          pick(['bot', 'user']),
          known.map((id) => ({ id, name: 'f', response: { at } })),
          extras,
        );
      },
      () => modelEvent('bot', `wrong ${at}`, { ...extras, errorCode: 'OUTPUT_SCHEMA', errorMessage: 'Wrong.' }),
    ];
    const rare = upTo(25);
    if (rare === 0) {
      events.push(
        createEvent({ ...extras, author: 'user', actions: { rewindBeforeInvocationId: `i${upTo(invocation + 2)}` } }),
      );
    } else if (rare === 1) {
      const startTimestamp = upTo(at + 1);
      const compactedContent = { role: 'model', parts: [{ text: `summary ${at}` }] };
      const compaction = { startTimestamp, endTimestamp: startTimestamp + upTo(at + 1), compactedContent };
      events.push(createEvent({ ...extras, author: 'bot', actions: { compaction } }));
    } else {
      events.push(pick(makers)());
    }
  }
  return events;
}

function idsOf(content: Content | undefined, key: 'functionCall' | 'functionResponse'): string[] {
  return (content?.parts ?? []).flatMap((part: Part) => (part[key] ? [part[key].id ?? 'stripped'] : []));
}

const SEEDS = Array.from({ length: 150 }, (_, seed) => seed);

test.each([undefined, 'a', 'a.b'])(
  'ContentsBuilder builds the same contents event by event as at once, on branch %s',
  (branch) => {
    for (const seed of SEEDS) {
      const history = historyOf(seed, 60);
      const random = seededRandom(seed + 1000);
      const builder = new ContentsBuilder('bot', branch);
      const events: Event[] = [];
      while (events.length < history.length) {
        const step = 1 + Math.floor(random() * 4);
        events.push(...history.slice(events.length, events.length + step));
        expect(builder.build(events), `seed ${seed}, ${events.length} events`).toEqual(
          new ContentsBuilder('bot', branch).build(events),
        );
      }
    }
  },
);

test('every response follows its call, and no call has two responses', () => {
  for (const seed of SEEDS) {
    const contents = new ContentsBuilder('bot', undefined).build(historyOf(seed, 80));
    for (const [index, content] of contents.entries()) {
      const answered = idsOf(content, 'functionResponse');
      if (answered.length === 0) continue;
      const called = idsOf(contents[index - 1], 'functionCall');
      expect(content.role).toBe('user');
      expect(answered.length, `seed ${seed}, content ${index}`).toBeLessThanOrEqual(called.length);
      for (const id of answered) expect(called, `seed ${seed}, content ${index}`).toContain(id);
    }
  }
});

test('ContentsBuilder does not modify the events', () => {
  for (const seed of SEEDS) {
    const history = historyOf(seed, 60);
    const before = JSON.stringify(history);
    const builder = new ContentsBuilder('bot', undefined);
    for (let count = 1; count <= history.length; count += 7) builder.build(history.slice(0, count));
    expect(JSON.stringify(history)).toBe(before);
  }
});

test('ContentsBuilder reads only the new events of a step', () => {
  const history = historyOf(1, 200).filter(({ actions }) => !actions.compaction && !actions.rewindBeforeInvocationId);
  let reads = 0;
  const counted = history.map(
    (event) =>
      new Proxy(event, {
        get(target, key, receiver): unknown {
          if (key === 'author') reads++;
          return Reflect.get(target, key, receiver);
        },
      }),
  );
  const builder = new ContentsBuilder('bot', undefined);
  builder.build(counted.slice(0, -1));
  reads = 0;
  builder.build(counted);
  expect(reads).toBeLessThan(10);
});

test('ContentsBuilder updates a long history event by event, even if a caller added to the shared list', () => {
  const history = historyOf(7, 4000).filter(({ actions }) => !actions.rewindBeforeInvocationId && !actions.compaction);
  const builder = new ContentsBuilder('bot', undefined);
  const events: Event[] = [];
  for (let step = 1; events.length < history.length; step++) {
    events.push(...history.slice(events.length, events.length + 150));
    const contents = builder.build(events);
    const fresh = new ContentsBuilder('bot', undefined).build(events);
    expect(contents.length).toBe(fresh.length);
    expect(contents, `${events.length} events`).toEqual(fresh);
    if (step % 3 === 0) contents.push({ role: 'user', parts: [{ text: 'added' }] });
  }
  expect(builder.build(events).length).toBeGreaterThan(2048);
});
