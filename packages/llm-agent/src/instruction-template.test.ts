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
])('injectSessionState fills %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  ['{nothing}', ''],
  ['{empty}', ''],
  ['{count} {flag}', '3 false'],
  ['{list}', '["a",{"b":1}]'],
  ['{braces}', '{name}'],
])('null becomes empty, text is not filled again, other values become JSON: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  ['{person.name} in {person.home.city}', 'Alan in Wilmslow'],
  ['{person.home}', '{"city":"Wilmslow"}'],
  ['{person.gone}', ''],
  ['{user:preferences.theme}', 'flat'],
  ['{user:preferences.size}', '12'],
])('a name with dots is looked up as a whole key first, then as a path: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test('a path continues from the longest key that has a value', async () => {
  expect(await fill('{a.b.c} {a.b.d}', { 'a.b': { c: 1 }, a: { b: { d: 2 } } })).toBe('1 2');
});

test.each([
  ['{missing?}', ''],
  ['{name?}', 'Ada'],
  ['{person.missing?}', ''],
  ['{user:missing?}!', '!'],
])('an optional placeholder becomes empty when its value is missing: %s', async (template, expected) => {
  expect(await fill(template, STATE)).toBe(expected);
});

test.each([
  '/users/{user.id}',
  '{{order.total}}',
  '{app:settings.theme}',
  '{person.missing}',
  '{name.length}',
  '{person.constructor}',
  '{toString.name}',
  '{höhe} {$total}',
])('a name that the ADK does not take for a key stays as it is if state does not have it: %s', async (template) => {
  expect(await fill(template, STATE)).toBe(template);
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
  '{name ?}',
  '{{name}',
  '{{{name}}',
  '{{missing}',
])('anything else in braces stays as it is: %s', async (template) => {
  expect(await fill(template, STATE)).toBe(template);
});

test('several braces are filled like one, and spaces within them are ignored', async () => {
  expect(await fill('{{name}} {{missing?}} {{{name}}} {{{{name}}}}', STATE)).toBe('Ada  Ada Ada');
  expect(await fill('{ name } {name } {\n user:name} {{ name }} { name? }', STATE)).toBe('Ada Ada Grace Ada Ada');
  expect(await fill('[{ missing? }{ artifact.notes.txt? }]', STATE)).toBe('[]');
  await expect(fill('{ missing }', STATE)).rejects.toThrow('uses {missing}, which is not in the session state');
});

test('a placeholder is filled if other braces are beside it', async () => {
  expect(await fill('{a b} {name} {{{name}} {{name}} {{name} {name}', STATE)).toBe(
    '{a b} Ada {{{name}} Ada {{name} Ada',
  );
});

test('a placeholder inside JSON is filled and the JSON is kept', async () => {
  expect(await fill('{"who": "{name}"}', STATE)).toBe('{"who": "Ada"}');
});

test.each(['{missing}', '{user:missing}', '{_missing1}', '{constructor}'])(
  'a missing key that is not optional throws MissingStateKeyError: %s',
  async (template) => {
    const key = template.slice(1, -1);
    await expect(fill(template, STATE)).rejects.toThrow(MissingStateKeyError);
    await expect(fill(template, STATE)).rejects.toThrow(
      `the instruction of agent "agent" uses {${key}}, which is not in the session state; write {${key}?} to make it optional`,
    );
  },
);

test('an artifact placeholder without an artifact service throws unless it is optional', async () => {
  await expect(fill('{artifact.notes.txt}')).rejects.toThrow(
    'the instruction of agent "agent" uses {artifact.notes.txt}, which needs an artifactService',
  );
  expect(await fill('[{artifact.notes.txt?}]')).toBe('[]');
});

test('text without braces is returned unchanged', async () => {
  expect(await fill('Be brief.')).toBe('Be brief.');
});

test('an instruction function can fill its text with injectSessionState', async () => {
  expect(await injectSessionState('{name}', new ReadonlyContext(testContext({ state: STATE })))).toBe('Ada');
});

test('a key inside JSON braces is filled and the outer braces stay', async () => {
  expect(await fill('{"name": "{name}", "again": {"deep": {{name}}}}', STATE)).toBe(
    '{"name": "Ada", "again": {"deep": Ada}}',
  );
});
