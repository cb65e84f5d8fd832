import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseEvent, toStrictAdk } from '@eventloom/core';
import { expect, test } from 'vitest';

const types = join(dirname(createRequire(import.meta.url).resolve('@google/adk/package.json')), 'dist/types');

/** Returns the names of the fields that an interface of `@google/adk` declares. */
function fieldsOf(file: string, name: string): string[] {
  const text = readFileSync(join(types, file), 'utf8');
  const [, body = ''] = new RegExp(`^export interface ${name}\\b[^{]*\\{$(.*?)^\\}$`, 'ms').exec(text) ?? [];
  return Array.from(body.matchAll(/^ {4}(\w+)\??:/gm), ([, field = '']) => field);
}

const FIELDS = [...fieldsOf('events/event.d.ts', 'Event'), ...fieldsOf('models/llm_response.d.ts', 'LlmResponse')];

test('toStrictAdk keeps each field of an event of @google/adk, except the route of a node, which adk-python does not have there', () => {
  expect(FIELDS).toEqual(expect.arrayContaining(['id', 'actions', 'isolationScope', 'content', 'liveSessionId']));
  const event = parseEvent({ id: 'a', invocationId: 'i', author: 'a', timestamp: 1, actions: {} });
  const moved = FIELDS.filter((field) => !(field in toStrictAdk({ [field]: {}, ...event })));
  expect(moved).toEqual(['route']);
});
