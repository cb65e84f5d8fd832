import { expect, test } from 'vitest';
import { InvalidRequestError } from '../errors.ts';
import { callsToRun, contentText, type Part } from './content.ts';

test('contentText joins the text of all parts and leaves thoughts out', () => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { functionCall: { name: 'f' } }, { text: '4.' }];
  expect(contentText({ role: 'model', parts })).toBe('It is 4.');
});

test('contentText is empty without content, parts or text', () => {
  expect(contentText(undefined)).toBe('');
  expect(contentText({ role: 'user' })).toBe('');
  expect(contentText({ parts: [{ inlineData: { data: 'AA' } }] })).toBe('');
});

test('contentText refuses an event and a text in place of a content', () => {
  const event = { author: 'a', actions: {}, content: { parts: [{ text: 'a' }] } };
  expect(() => contentText(event as never)).toThrow(
    'contentText: expected a content, got an event; write stringifyContent(event)',
  );
  expect(() => contentText('x' as never)).toThrow(InvalidRequestError);
  expect(() => contentText('x' as never)).toThrow('contentText: expected a content, got a string; write');
});

test('a call that the service answered in the same reply is not run', () => {
  const call = { functionCall: { id: 'a', name: 'remote' } };
  const answered = { functionResponse: { id: 'a', name: 'remote', response: {} } };
  const own = { functionCall: { id: 'b', name: 'local' } };
  expect(callsToRun([call, answered, own])).toEqual([own.functionCall]);
  expect(callsToRun([call, own])).toEqual([call.functionCall, own.functionCall]);
});

test('a response without an id in the same reply answers the call with its name', () => {
  const call = { functionCall: { name: 'remote' } };
  expect(callsToRun([call, { functionResponse: { name: 'remote', response: {} } }])).toEqual([]);
  expect(callsToRun([call, { functionResponse: { name: 'other', response: {} } }])).toEqual([call.functionCall]);
});

test('a response without an id completes the first open call with its name', () => {
  const call = (id: string): Part => ({ functionCall: { id, name: 'f' } });
  const [a, b, c] = [call('a'), call('b'), call('c')];
  const byId: Part = { functionResponse: { id: 'a', name: 'f', response: {} } };
  const byName: Part = { functionResponse: { name: 'f', response: {} } };
  expect(callsToRun([a, b, c, byId, byName])).toEqual([c.functionCall]);
  expect(callsToRun([a, b, c, byName, byName, byName, byName])).toEqual([]);
});

test('many calls and responses take linear time', () => {
  const readsOf = (count: number): number => {
    let reads = 0;
    const calls = Array.from({ length: count }, (_, index): Part => {
      const functionCall = {
        name: 'f',
        get id() {
          reads++;
          return `c${index}`;
        },
      };
      return { functionCall };
    });
    const responses = calls.map((_, index): Part => ({ functionResponse: { id: `c${count - 1 - index}`, name: 'f' } }));
    expect(callsToRun([...calls, ...responses])).toEqual([]);
    return reads;
  };
  expect(readsOf(400)).toBe(4 * readsOf(100));
});
