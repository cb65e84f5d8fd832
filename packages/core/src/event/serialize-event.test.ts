import { describe, expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.ts';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { ChunkWriter, type SerializeEventOptions, serializeEvent } from './serialize-event.ts';

const EVENT = createEvent({
  id: 'id',
  invocationId: 'e-1',
  author: 'agent',
  timestamp: 1.5,
  content: { role: 'model', parts: [{ text: 'hi' }, { inlineData: { data: 'AAAA', mimeType: 'a/b' } }] },
  actions: { stateDelta: { a: { b: 1 }, 'dotted.key': 2 }, artifactDelta: { 'a.txt': 0 } },
});

function written(event: Event, options?: SerializeEventOptions): unknown {
  return JSON.parse(serializeEvent(event, options));
}

describe('serializeEvent', () => {
  test('writes both deltas, also when they are empty', () => {
    expect(serializeEvent({ ...createEvent({ id: 'id' }), timestamp: 0 })).toBe(
      '{"id":"id","invocationId":"","author":"","timestamp":0,"actions":{"stateDelta":{},"artifactDelta":{}}}',
    );
  });

  test('omits null and empty optional fields and keeps all others', () => {
    const event = {
      ...EVENT,
      branch: null,
      errorCode: undefined,
      tags: [],
      longRunningToolIds: [],
      alternatives: [],
      customMetadata: {},
      usageMetadata: {},
      groundingMetadata: {},
      partial: false,
      avgLogprobs: 0,
      requestId: '',
      actions: {
        stateDelta: { a: null, empty: {} },
        artifactDelta: {},
        transferToAgent: null,
        removedState: [],
        agentState: {},
        requestedAuthConfigs: {},
        escalate: false,
      },
    } as unknown as Event;
    expect(written(event)).toEqual({
      ...EVENT,
      partial: false,
      avgLogprobs: 0,
      requestId: '',
      actions: { stateDelta: { a: null, empty: {} }, artifactDelta: {}, escalate: false },
    });
  });

  test('omits a single null or empty field in any place', () => {
    for (const empty of [null, [], {}]) {
      expect(written({ ...EVENT, customMetadata: empty } as unknown as Event)).toEqual(EVENT);
      const actions = { ...EVENT.actions, agentState: empty };
      expect(written({ ...EVENT, actions } as unknown as Event)).toEqual(EVENT);
    }
  });

  test('adds actions to an event without them', () => {
    for (const actions of [undefined, null, {}, { stateDelta: null }]) {
      const event = { ...EVENT, actions } as unknown as Event;
      expect(written(event)).toMatchObject({ actions: { stateDelta: {}, artifactDelta: {} } });
    }
  });

  test('indents like JSON.stringify', () => {
    expect(serializeEvent(EVENT, { indent: 2 })).toBe(JSON.stringify(EVENT, null, 2));
  });

  test('does not change the event', () => {
    const event = createEvent({ tags: [], customMetadata: {} });
    const before = structuredClone(event);
    serializeEvent(event, { exclude: ['actions.stateDelta'] });
    expect(event).toEqual(before);
  });

  test('treats __proto__ as an ordinary key', () => {
    const event = createEvent({ tags: [], ...(JSON.parse('{"__proto__":{"a":1}}') as object) });
    expect(serializeEvent(event)).toContain('"__proto__":{"a":1}');
    expect(serializeEvent(event, { include: ['__proto__.a'] })).toBe('{"__proto__":{"a":1}}');
    expect(serializeEvent(event, { exclude: ['id'] })).toContain('"__proto__":{"a":1}');
  });
});

describe('include and exclude', () => {
  test('include keeps the paths and their parents, through lists', () => {
    expect(written(EVENT, { include: ['id', 'content.parts.text'] })).toEqual({
      id: 'id',
      content: { parts: [{ text: 'hi' }, {}] },
    });
  });

  test('exclude removes the paths, through lists', () => {
    expect(written(EVENT, { exclude: ['content.parts.inlineData', 'actions', 'timestamp'] })).toEqual({
      id: 'id',
      invocationId: 'e-1',
      author: 'agent',
      content: { role: 'model', parts: [{ text: 'hi' }, {}] },
    });
  });

  test('exclude applies after include', () => {
    expect(written(EVENT, { include: ['content'], exclude: ['content.parts.inlineData.data'] })).toEqual({
      content: { role: 'model', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'a/b' } }] },
    });
  });

  test('the wider of two nested paths wins, in either order', () => {
    for (const paths of [
      ['content', 'content.parts.text'],
      ['content.parts.text', 'content'],
    ]) {
      expect(written(EVENT, { include: paths })).toEqual({ content: EVENT.content });
      expect(written(EVENT, { exclude: paths })).not.toHaveProperty('content');
    }
  });

  test('ignores paths to absent fields', () => {
    expect(written(EVENT, { exclude: ['branch', 'id.deeper', 'content.nothing'] })).toEqual(EVENT);
    expect(written(EVENT, { include: ['branch'] })).toEqual({});
    expect(written(EVENT, { include: ['id.deeper'] })).toEqual({ id: 'id' });
    expect(written(EVENT, { include: [], exclude: [] })).toEqual(EVENT);
  });

  test.each(['', '.', 'content..text', 'content.'])('throws for the invalid path %j', (path) => {
    expect(() => serializeEvent(EVENT, { include: [path] })).toThrow(InvalidRequestError);
    expect(() => serializeEvent(EVENT, { exclude: [path] })).toThrow(/^exclude: /);
  });
});

describe('ChunkWriter', () => {
  const chunk = (text: string, more: object = {}): Event => ({
    ...createEvent({ id: `id-${text}`, invocationId: 'e-1', author: 'agent', timestamp: text.length + 0.25 }),
    content: { role: 'model', parts: [{ text }] },
    partial: true,
    responseId: 'r-1',
    ...more,
  });

  test('writes text chunks whose other fields are equal like serializeEvent', () => {
    const writer = new ChunkWriter();
    for (const text of ['a', 'bc', '"quoted" \\ \n', '\u2028\ud800', '', 'end']) {
      expect(JSON.parse(writer.write(chunk(text)))).toEqual(JSON.parse(serializeEvent(chunk(text))));
    }
  });

  test('writes the fields that two chunks share once', () => {
    const writer = new ChunkWriter();
    writer.write(chunk('a'));
    const reads: string[] = [];
    const watched = chunk('b');
    Object.defineProperty(watched, 'author', { enumerable: true, get: () => (reads.push('author'), 'agent') });
    writer.write(watched);
    const first = reads.length;
    writer.write(watched);
    expect(reads.length - first).toBeLessThan(first);
  });

  test.each<[string, object]>([
    ['a field with another value', { author: 'other' }],
    ['one field more', { branch: 'b' }],
    ['an object', { usageMetadata: { totalTokenCount: 1 } }],
    ['a list that is empty', { tags: [] }],
    ['null', { branch: null }],
    ['undefined', { branch: undefined }],
    ['actions', { actions: { stateDelta: { a: 1 }, artifactDelta: {} } }],
    ['actions without deltas', { actions: {} }],
    ['no actions', { actions: undefined }],
    ['a thought', { content: { role: 'model', parts: [{ text: 'x', thought: true }] } }],
    ['two parts', { content: { role: 'model', parts: [{ text: 'x' }, { text: 'y' }] } }],
    ['no text', { content: { role: 'model', parts: [{ inlineData: { data: 'AAAA', mimeType: 'a/b' } }] } }],
    ['no parts', { content: { role: 'model' } }],
    ['another role', { content: { role: 'user', parts: [{ text: 'x' }] } }],
    ['a field of the content', { content: { role: 'model', parts: [{ text: 'x' }], more: 1 } }],
    ['no content', { content: undefined }],
    ['an id to be escaped', { id: 'a"b' }],
    ['a time that is not a number', { timestamp: Number.NaN }],
  ])('writes a chunk with %s, and the chunks after it, like serializeEvent', (_name, more) => {
    const writer = new ChunkWriter();
    const chunks = [
      chunk('a'),
      chunk('b'),
      chunk('c', more),
      chunk('d', more),
      chunk('e', more),
      chunk('f'),
      chunk('g'),
    ];
    expect(chunks.map((each): unknown => JSON.parse(writer.write(each)))).toEqual(
      chunks.map((each): unknown => JSON.parse(serializeEvent(each))),
    );
  });

  test('writes a field that was assigned after the chunk was written', () => {
    const writer = new ChunkWriter();
    const first = chunk('a');
    writer.write(first);
    writer.write(chunk('b'));
    Object.assign(first, { author: 'other' });
    expect(JSON.parse(writer.write(chunk('c', { author: 'other' })))).toMatchObject({ author: 'other' });
  });
});
