import { MissingStateKeyError, ReadonlyContext } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { injectSessionState } from './instruction-template.ts';

function fill(template: string, state: Record<string, unknown> = {}): Promise<string> {
  return injectSessionState(template, testContext({ state }));
}

const STATE = {
  name: 'Ada',
  'user:name': 'Grace',
  'app:name': 'Desk',
  'temp:name': 'now',
  nothing: null,
  count: 3,
  flag: false,
  empty: '',
  list: ['a', { b: 1 }],
  person: { name: 'Alan', home: { city: 'Wilmslow' }, gone: null },
  'user:preferences': { theme: 'dark', size: 12 },
  'user:preferences.theme': 'flat',
  größe: 'XL',
  $price: 5,
  braces: '{name}',
  __proto__: 'inherited',
};

test.each([
  ['Hello {name}!', 'Hello Ada!'],
  ['{user:name} {app:name} {temp:name}', 'Grace Desk now'],
  ['{name}{name}', 'AdaAda'],
  ['{größe} {$price}', 'XL 5'],
])('a key in braces is filled in: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  ['{nothing}', ''],
  ['{empty}', ''],
  ['{count} {flag}', '3 false'],
  ['{list}', '["a",{"b":1}]'],
  ['{braces}', '{name}'],
])('null is empty, text is itself and not filled again, anything else is JSON: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  ['{person.name} in {person.home.city}', 'Alan in Wilmslow'],
  ['{person.home}', '{"city":"Wilmslow"}'],
  ['{person.gone}', ''],
  ['{user:preferences.theme}', 'flat'],
  ['{user:preferences.size}', '12'],
])('a key with dots is looked up as it is first, then as a path: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test('a path goes on from the longest key that leads to a value', async () => {
  expect(await fill('{a.b.c} {a.b.d}', { 'a.b': { c: 1 }, a: { b: { d: 2 } } })).toBe('1 2');
});

test.each([
  ['{missing?}', ''],
  ['{name?}', 'Ada'],
  ['{person.missing?}', ''],
  ['{user:missing?}!', '!'],
])('with a question mark what is missing is empty: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  '{bad-name}',
  '{"json": {"a": [1]}}',
  '{}',
  '{ }',
  '{1st}',
  '{a b}',
  '{other:name}',
  '{app:}',
  '{name.}',
  '{.name}',
  '{a.0}',
  '{?}',
  '{ unclosed',
  'unopened }',
  '{{}}',
  '{ name }',
  '{name }',
  '{ name?}',
  '{name ?}',
  '{{ name }}',
  '{ artifact.notes.txt }',
  '{{{name}}}',
  '{{{{name}}}}',
  '{{name}',
  '{{{name}}',
  '{{missing}',
])('anything else in braces stays as it is: %s', async (template) => {
  expect(await fill(template, STATE)).toBe(template);
});

test('double braces are filled in like single ones', async () => {
  expect(await fill('{{name}} {{missing?}}', STATE)).toBe('Ada ');
});

test('braces that stay do not keep the ones beside them from being filled in', async () => {
  expect(await fill('{ name } {name} {{{name}}} {{name}} {{name} {name}', STATE)).toBe(
    '{ name } Ada {{{name}}} Ada {{name} Ada',
  );
});

test('JSON around a key is kept and the key is filled in', async () => {
  expect(await fill('{"who": "{name}"}', STATE)).toBe('{"who": "Ada"}');
});

test.each([
  '{missing}',
  '{user:missing}',
  '{person.missing}',
  '{name.length}',
  '{constructor}',
  '{person.constructor}',
  '{toString.name}',
])('a key that is not there and not optional is an error that says so: %s', async (template) => {
  const key = template.slice(1, -1);
  await expect(fill(template, STATE)).rejects.toThrow(MissingStateKeyError);
  await expect(fill(template, STATE)).rejects.toThrow(
    `the instruction of agent "agent" names {${key}}, which state does not have; write {${key}?} to leave it out`,
  );
});

test('an artifact needs a service, unless it is optional', async () => {
  await expect(fill('{artifact.notes.txt}')).rejects.toThrow(
    'the instruction of agent "agent" names {artifact.notes.txt}, which needs an artifactService',
  );
  expect(await fill('[{artifact.notes.txt?}]')).toBe('[]');
});

test('text without braces costs nothing and comes back as it is', async () => {
  expect(await fill('Be brief.')).toBe('Be brief.');
});

test('an instruction function can fill its text from the context it gets', async () => {
  expect(await injectSessionState('{name}', new ReadonlyContext(testContext({ state: STATE })))).toBe('Ada');
});

test('a key in braces inside JSON is filled, and the braces around it stay', async () => {
  expect(await fill('{"name": "{name}", "again": {"deep": {{name}}}}', STATE)).toBe(
    '{"name": "Ada", "again": {"deep": Ada}}',
  );
});
