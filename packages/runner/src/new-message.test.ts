import { type Content, createEvent, type Event, InvalidMessageError } from '@eventloom/core';
import { Calls, sealEvent } from '@eventloom/core/internal';
import { fixedPlatform, functionCallEvent, functionResponseEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type MatchedMessage, matchAnswers } from './answers.ts';
import { checkNewMessage } from './run-request.ts';

test('a message of text, data and files is accepted and gets the role user', () => {
  const parts = [
    { text: 'See:' },
    { inlineData: { mimeType: 'image/png', data: 'aQ==' } },
    { fileData: { mimeType: 'text/plain', fileUri: 'gs://b/f' } },
  ];
  expect(checkNewMessage({ parts })).toEqual({ role: 'user', parts });
  expect(checkNewMessage({ role: 'user', parts })).toEqual({ role: 'user', parts });
});

test('a text is the message of one part', () => {
  expect(checkNewMessage('Hello')).toEqual({ role: 'user', parts: [{ text: 'Hello' }] });
});

test('the message is copied and frozen once', () => {
  const message = { parts: [{ text: 'hi' }] };
  const checked = checkNewMessage(message);
  message.parts.push({ text: 'later' });
  expect(checked.parts).toEqual([{ text: 'hi' }]);
  expect(() => checked.parts?.push({ text: 'later' })).toThrow(TypeError);
  expect(sealEvent(createEvent({ id: '1', content: checked })).content).toBe(checked);
});

test.each([
  ['nothing', undefined, "expected a text or an object, got nothing; write 'hello', or { role:"],
  ['a number', 5, 'expected a text or an object, got the number 5'],
  ['null', null, 'expected a text or an object, got null'],
  ['an empty text', ' ', 'is empty'],
  ['no parts', {}, 'has no parts'],
  ['an empty list of parts', { parts: [] }, 'has no parts'],
  ['parts that are not a list', { parts: { text: 'hi' } }, 'has no parts'],
  ['the role of the model', { role: 'model', parts: [{ text: 'hi' }] }, 'has the role "model"'],
  ['a part that is not an object', { parts: ['hi'] }, 'parts[0]: expected an object, got the text "hi"'],
  ['a part that is null', { parts: [null] }, 'parts[0]: expected an object, got null'],
  ['an empty part', { parts: [{ text: 'hi' }, {}] }, 'parts[1] has none of text,'],
  ['a part of nothing but null', { parts: [{ text: null }] }, 'parts[0] has none of text,'],
  ['a text that is not a string', { parts: [{ text: 5 }] }, 'parts[0] has a text that is not a string'],
  ['empty texts', { parts: [{ text: '' }, { text: '' }] }, 'is empty'],
  ['a function call', { parts: [{ functionCall: { name: 'f' } }] }, 'parts[0] is a functionCall'],
  [
    'a response without an id',
    { parts: [{ functionResponse: { name: 'f' } }] },
    'parts[0] is a function response without the id',
  ],
  ['a response that is text', { parts: [{ functionResponse: 'f' }] }, 'parts[0] is a function response without the id'],
  [
    'a result that is not an object',
    { parts: [{ functionResponse: { id: 'c', response: 'done' } }] },
    'parts[0] is a function response whose response is not an object',
  ],
  [
    'text beside function responses',
    { parts: [{ functionResponse: { id: 'c', response: {} } }, { text: 'hi' }] },
    'mixes function responses with other parts',
  ],
  [
    'what JSON cannot say',
    { parts: [{ text: 'hi', partMetadata: { at: new Map() } }] },
    'parts[0].partMetadata.at: is an object of the class Map',
  ],
])('%s is refused', (_, message, fault) => {
  const check = () => checkNewMessage(message as Content);
  expect(check).toThrow(InvalidMessageError);
  expect(check).toThrow(`newMessage: ${fault}`);
});

function match(message: Content, events: readonly Event[]): Promise<MatchedMessage> {
  return matchAnswers(message, {
    events,
    calls: new Calls(events),
    platform: fixedPlatform(),
    requestTtlMs: undefined,
    credentialService: undefined,
  });
}

function answering(id: string, extras: object = {}): Content {
  return { role: 'user', parts: [{ functionResponse: { id, response: { ok: true }, ...extras } }] };
}

function calling(id: string, longRunningToolIds: readonly string[] = []): Event {
  return functionCallEvent('bot', [{ id, name: 'approve', args: {} }], { longRunningToolIds });
}

test('a function response gets the name of its call', async () => {
  expect((await match(answering('c1'), [calling('c1', ['c1'])])).message).toEqual({
    role: 'user',
    parts: [{ functionResponse: { id: 'c1', name: 'approve', response: { ok: true } } }],
  });
});

const answered = functionResponseEvent('bot', [{ id: 'c1', name: 'approve', response: {} }]);

test('a client may answer only a long-running call again', async () => {
  expect((await match(answering('c1'), [calling('c1', ['c1']), answered])).message.parts).toHaveLength(1);
  await expect(match(answering('c1'), [calling('c1'), answered])).rejects.toThrow(
    'newMessage: the call "c1" has already been answered',
  );
  await expect(match(answering('c1'), [calling('c1')])).rejects.toThrow(
    'newMessage: the call "c1" can be answered only by its tool',
  );
});

test('a response answers the later of two calls with the same id', async () => {
  const events = [calling('c1', ['c1']), answered, calling('c1', ['c1'])];
  expect((await match(answering('c1'), events)).message.parts).toHaveLength(1);
});

test.each([
  [
    'an id that no call has',
    answering('c2'),
    'there is no call with the id "c2" that a run of this session made and that takes an answer; write the id of a call that waits',
  ],
  ['the name of another tool', answering('c1', { name: 'pay' }), 'the call "c1" is a call of "approve", not of "pay"'],
])('%s is refused', async (_, message, fault) => {
  const events = [createEvent({ author: 'user' }), calling('c1', ['c1'])];
  await expect(match(message, events)).rejects.toThrow(new InvalidMessageError(`newMessage: ${fault}`));
});
