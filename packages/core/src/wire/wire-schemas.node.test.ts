import { expect, test } from 'vitest';
import { toOpenApiSchemas } from '../schemas/index.ts';
import { wireSchemas } from './wire-schemas.ts';

const KEYWORDS = new Set(
  `$ref description type const enum minimum maximum minLength items properties required additionalProperties`.split(
    ' ',
  ),
);

test('the schemas that are written down are those of zod; write them with --update', async () => {
  await expect(`${JSON.stringify(toOpenApiSchemas(), undefined, 2)}\n`).toMatchFileSnapshot('./wire-schemas.json');
});

test('the schemas use no keyword that is not checked', () => {
  const used = Object.values(wireSchemas).flatMap((schema) => keywordsOf(schema));
  expect(used.filter((keyword) => !KEYWORDS.has(keyword))).toEqual([]);
});

function keywordsOf(schema: object): string[] {
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [keyword];
    const below = keyword === 'properties' ? Object.values(value as Record<string, object>) : [value];
    return [keyword, ...below.flatMap(keywordsOf)];
  });
}
