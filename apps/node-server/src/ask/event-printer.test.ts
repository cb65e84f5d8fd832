import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { expect, test } from 'vitest';
import type { Terminal } from '../terminal.ts';
import { EventPrinter } from './event-printer.ts';

function show(...events: readonly Event[]): string {
  let shown = '';
  const terminal: Terminal = {
    hasColours: false,
    write: (text) => void (shown += text),
    print: (line) => void (shown += `${line}\n`),
    warn: () => undefined,
  };
  const printer = new EventPrinter(terminal);
  for (const event of events) printer.print(event);
  return shown;
}

const say = (text: string, more: EventParams = {}): Event =>
  createEvent({ author: 'a', content: { parts: [{ text }] }, ...more });

test('the event that merges printed chunks is not printed', () => {
  const events = [
    say('one ', { partial: true, responseId: 'r' }),
    say('two', { partial: true, responseId: 'r' }),
    say('one two', { responseId: 'r' }),
  ];
  expect(show(...events, say('three'))).toBe('a  one two\na  three\n');
});

test('a second reply starts a new line', () => {
  expect(
    show(say('one', { partial: true, responseId: 'r' }), say('two', { author: 'b', partial: true, responseId: 's' })),
  ).toBe('a  one\nb  two');
});

test('calls, responses, state, artifacts and errors are printed', () => {
  const event = createEvent({
    author: 'a',
    content: {
      parts: [{ functionCall: { name: 'f', args: { x: 1 } } }, { functionResponse: { name: 'g', response: { y: 2 } } }],
    },
    actions: { stateDelta: { k: 'v' }, removedState: ['old'], artifactDelta: { 'a.txt': 3 }, transferToAgent: 'b' },
    errorCode: 'MODEL',
    errorMessage: 'no',
  });
  expect(show(event)).toBe(
    'a  → f {"x":1}\na  ← g {"y":2}\na  state k = "v"\na  state old removed\na  artifact a.txt, version 3\na  transfers to b\na  ! MODEL: no\n',
  );
});

test('control characters in printed text are removed', () => {
  const trick = '\u001B]52;c;cm0gLXJm\u0007\u009B2J\r\u007Fx';
  const shown = show(
    say(trick, { partial: true, responseId: 'r', author: trick }),
    say(`tab\tand\n${trick}`),
    createEvent({
      author: 'a',
      content: { parts: [{ functionCall: { name: trick, args: { trick } } }] },
      actions: { stateDelta: { [trick]: trick }, transferToAgent: trick },
      errorCode: trick,
      errorMessage: trick,
    }),
  );
  expect(shown).toContain('tab\tand\n]52;c;cm0gLXJm2Jx');
  expect(shown).toMatch(/^[^\p{Cc}\n\t]*([\n\t][^\p{Cc}]*)*$/u);
});
