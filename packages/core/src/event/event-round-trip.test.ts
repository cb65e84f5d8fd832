import { expect, test } from 'vitest';
import type { Content, Part } from '../content/content.ts';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { toExecutionView } from './execution-view.ts';
import { fromExecutionView } from './fixtures/from-execution-view.ts';
import { parseEvent } from './parse-event.ts';
import { serializeEvent } from './serialize-event.ts';
import { fromStrictAdk, toStrictAdk } from './strict-adk.ts';

const ODD_TEXTS = [
  '',
  ' ',
  'a_b',
  'aB',
  '__proto__',
  'constructor',
  'ключ',
  '日本語',
  '\u0000',
  '\u2028',
  '"\\',
  '\ud83d',
  '💡',
];

/** Random events from a seed, so that a failure can be reproduced. */
class EventMaker {
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  below(limit: number): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((this.#seed / 2 ** 32) * limit);
  }

  some<T>(make: () => T): T | undefined {
    return this.below(2) === 0 ? make() : undefined;
  }

  text(): string {
    return ODD_TEXTS[this.below(ODD_TEXTS.length)] ?? '';
  }

  value(depth = 0): unknown {
    switch (this.below(depth > 3 ? 5 : 7)) {
      case 0:
        return null;
      case 1:
        return this.below(2) === 0;
      case 2:
        return (this.below(2_000_001) - 1_000_000) / 64;
      case 3:
        return this.below(10);
      case 4:
        return this.text();
      case 5:
        return Array.from({ length: this.below(4) }, () => this.value(depth + 1));
      default:
        return this.object(depth + 1);
    }
  }

  object(depth = 0): Record<string, unknown> {
    // fromEntries makes `__proto__` a key like any other.
    return Object.fromEntries(Array.from({ length: 1 + this.below(4) }, () => [this.text(), this.value(depth)]));
  }

  part(): Part {
    const parts: (() => Part)[] = [
      () => ({ text: this.text(), thought: this.below(2) === 0 }),
      () => ({ functionCall: { id: this.text(), name: this.text(), args: this.object() } }),
      () => ({ functionResponse: { name: this.text(), response: this.object() } }),
      () => ({ inlineData: { data: 'AAA-', mimeType: this.text() }, thoughtSignature: 'sig_-' }),
      () => ({ fileData: { fileUri: this.text() }, partMetadata: this.object() }),
    ];
    return parts[this.below(parts.length)]?.() ?? {};
  }

  content(): Content {
    return { role: this.text(), parts: Array.from({ length: this.below(3) }, () => this.part()) };
  }

  event(): Event {
    const fields = {
      branch: this.some(() => this.text()),
      content: this.some(() => this.content()),
      partial: this.some(() => this.below(2) === 0),
      errorCode: this.some(() => this.text()),
      usageMetadata: this.some(() => ({ totalTokenCount: this.below(9), timingInfo: { timeToFirstTokenMs: 1.5 } })),
      customMetadata: this.some(() => this.object()),
      longRunningToolIds: this.some(() => [this.text()]),
      tags: this.some(() => ['transfer']),
      requestId: this.some(() => 'mine'),
      executionId: this.some(() => this.text()),
      parentExecutionId: this.some(() => this.text()),
      nodeEvent: this.some(() => ({ eventType: 'a', category: 'custom', nodeId: 'n', payload: this.object() })),
      alternatives: this.some(() => [{ index: 1, content: this.content() }]),
    };
    const actions = {
      stateDelta: this.object(),
      artifactDelta: Object.fromEntries([[this.text(), this.below(9)]]),
      removedState: this.some(() => [this.text()]),
      agentState: this.some(() => this.object()),
      escalate: this.some(() => true),
      requestedToolConfirmations: this.some(() => Object.fromEntries([[this.text(), { payload: this.text() }]])),
    };
    // Through JSON, which leaves out what is undefined.
    return JSON.parse(
      JSON.stringify(
        createEvent({
          id: 'id',
          invocationId: 'e-1',
          author: 'a',
          timestamp: this.below(9),
          ...fields,
          actions,
        } as Event),
      ),
    ) as Event;
  }
}

/** The same JSON with the keys of the protocol in snake_case; keys of the user's own data are unchanged. */
function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  const owned = /^(stateDelta|artifactDelta|agentState|customMetadata|partMetadata|args|response|payload)$/;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => [
      [key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), owned.test(key) ? item : mapUnder(key, item)],
      [`nothing_${key}`, null],
    ]),
  );
}

/** Converts a member to snake_case. The keys of `requestedToolConfirmations` are call ids, which stay as they are. */
function mapUnder(key: string, value: unknown): unknown {
  if (key !== 'requestedToolConfirmations') return toSnakeCase(value);
  return Object.fromEntries(Object.entries(value as object).map(([id, item]) => [id, toSnakeCase(item)]));
}

const events = Array.from({ length: 300 }, (_, seed) => new EventMaker(seed + 1).event());

test('parseEvent restores a serialised event', () => {
  for (const event of events) {
    expect(parseEvent(serializeEvent(event))).toEqual(event);
    expect(serializeEvent(parseEvent(serializeEvent(event)))).toBe(serializeEvent(event));
  }
});

test('an event in snake_case, with nulls between, reads as the same event', () => {
  for (const event of events) expect(parseEvent(JSON.stringify(toSnakeCase(event)))).toEqual(event);
});

test('an event survives structuredClone', () => {
  for (const event of events) expect(structuredClone(event)).toEqual(event);
});

test('the strict view and the execution view can be converted back without loss', () => {
  for (const event of events) {
    expect(fromStrictAdk(parseEvent(serializeEvent(toStrictAdk(event))))).toEqual(event);
    expect(fromExecutionView(toExecutionView(event))).toEqual(event);
  }
});
