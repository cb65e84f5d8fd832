import { describe, expect, test } from 'vitest';
import { addItem, fieldOf, initialTexts, itemsOf, readAnswer, refusedFields, removeItem } from './schema-fields.ts';

const schema = {
  type: 'object',
  required: ['name', 'tags', 'address', 'note'],
  properties: {
    name: { type: 'string', minLength: 3, pattern: '^[A-Z]' },
    email: { type: 'string', format: 'email', pattern: '^.+@.+$' },
    count: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: 5, default: 2 },
    size: { enum: ['S', 'M'] },
    gift: { type: 'boolean', default: false },
    tags: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { type: 'number' } },
    address: { type: 'object', required: ['street'], properties: { street: { type: 'string' } } },
    invoice: { type: 'object', required: ['to'], properties: { to: { type: 'string' } } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    when: { type: 'string', format: 'date-time' },
    more: { type: 'array', items: { type: 'object' } },
  },
};
const root = fieldOf(schema);
const texts = { ...initialTexts(root), name: 'Ann', 'address.street': 'Main Street' };

describe('fieldOf', () => {
  test('creates inputs that the browser checks by the schema', () => {
    const field = (key: string) => root.fields.find((each) => each.key === key);
    expect(field('name')).toMatchObject({
      isRequired: true,
      attributes: { type: 'text', minLength: 3, pattern: '.*(?:^[A-Z]).*' },
    });
    // The type of the input has a pattern of its own.
    expect(field('email')?.attributes).toEqual({ type: 'email' });
    expect(field('count')).toMatchObject({ initial: '2', attributes: { type: 'number', step: 1, max: 5 } });
    expect(field('count')?.attributes).not.toHaveProperty('min');
    expect(field('size')).toMatchObject({ kind: 'choice', choices: ['S', 'M'] });
    expect(field('more')).toMatchObject({ kind: 'json' });
    expect(field('address')?.fields[0]).toMatchObject({ key: 'address.street', isRequired: true });
    // A group that may be absent requires nothing.
    expect(field('invoice')?.fields[0]).toMatchObject({ key: 'invoice.to', isRequired: false });
  });

  test('shows an example of JSON where there is no simple field', () => {
    const item = {
      type: 'object',
      properties: {
        sku: { type: 'string' },
        count: { type: ['integer', 'null'] },
        size: { enum: ['S', 'M'] },
        gift: { type: 'boolean', default: false },
        parts: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
      },
    };
    const items = { anyOf: [item, { type: 'string' }] };
    expect(JSON.parse(fieldOf({ type: 'array', items }).example ?? '')).toEqual([
      { sku: 'text', count: 1, size: 'S', gift: false, parts: [{ name: 'text' }] },
    ]);
    expect(fieldOf({ type: 'object' }).example).toBe('{}');
  });

  test('creates one field for a schema that is not an object, and without a schema', () => {
    expect(fieldOf({ type: 'number' })).toMatchObject({ key: '', kind: 'input', type: 'number' });
    expect(fieldOf()).toMatchObject({ key: '', kind: 'input', type: 'string' });
    expect(readAnswer(fieldOf({ type: 'number' }), { '': '4' })).toEqual({ value: 4 });
  });
});

describe('readAnswer', () => {
  test('leaves out fields that are empty and not required', () => {
    const value = { name: 'Ann', count: 2, gift: false, tags: [], address: { street: 'Main Street' }, note: null };
    expect(readAnswer(root, texts)).toEqual({ value });
  });

  test('reads lists by line, numbers, choices, times and JSON', () => {
    const filled = {
      ...texts,
      tags: 'red\n\nblue',
      numbers: '1\n2.5',
      size: 'M',
      gift: 'true',
      note: 'soon',
      when: '2026-01-02T03:04:05',
      more: '[{"a": 1}]',
    };
    expect(readAnswer(root, filled)).toEqual({
      value: {
        name: 'Ann',
        count: 2,
        size: 'M',
        gift: true,
        tags: ['red', 'blue'],
        numbers: [1, 2.5],
        address: { street: 'Main Street' },
        note: 'soon',
        when: new Date('2026-01-02T03:04:05').toISOString(),
        more: [{ a: 1 }],
      },
    });
  });

  test('returns a message for each field that it cannot read', () => {
    expect(readAnswer(root, { ...texts, numbers: '1\nx', more: 'red' })).toEqual({
      errors: {
        numbers: 'Expected a number on each line, got “x”.',
        more: 'Expected JSON, such as {"approved": true} or ["a", "b"].',
      },
    });
  });
});

describe('a list of objects', () => {
  const item = {
    type: 'object',
    required: ['sku'],
    properties: {
      sku: { type: 'string' },
      count: { type: 'integer', default: 1 },
      parts: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
      sizes: { type: 'array', items: { enum: ['S', 'M'] } },
    },
  };
  const lines = { type: 'array', items: item, minItems: 1, maxItems: 3 };
  const form = fieldOf({ type: 'object', required: ['lines'], properties: { lines, more: lines } });
  const list = form.fields[0] ?? form;

  test('has the fields of each item, and begins with the required number of items', () => {
    expect(list).toMatchObject({ kind: 'items', minItems: 1, maxItems: 3 });
    const texts = initialTexts(form);
    expect(itemsOf(list, texts)).toMatchObject([{ kind: 'group', label: 'lines 1' }]);
    expect(texts).toMatchObject({ lines: '1', 'lines.0.count': '1', 'lines.0.parts': '0', more: '0' });
    expect(readAnswer(form, { ...texts, 'lines.0.sku': 'a' })).toEqual({ value: { lines: [{ sku: 'a', count: 1 }] } });
  });

  test('has values of its default, and those of the objects around it', () => {
    const given = [
      { sku: 'a', parts: [{ name: 'b' }, {}] },
      { sku: 'c', count: 4, sizes: ['M'] },
    ];
    for (const schema of [
      { type: 'object', properties: { lines: { ...lines, default: given } } },
      { type: 'object', properties: { lines }, default: { lines: given } },
    ]) {
      const field = fieldOf(schema);
      expect(readAnswer(field, initialTexts(field))).toEqual({
        value: {
          lines: [
            { sku: 'a', count: 1, parts: [{ name: 'b' }, {}] },
            { sku: 'c', count: 4, sizes: ['M'] },
          ],
        },
      });
    }
  });

  test.each([
    [form, list],
    [fieldOf(lines), fieldOf(lines)],
  ])('keeps the texts of the other items when one is removed', (whole, shown) => {
    const place = shown.key === '' ? '' : `${shown.key}.`;
    let texts = addItem(shown, addItem(shown, initialTexts(whole)));
    texts = { ...texts, [`${place}0.sku`]: 'a', [`${place}1.sku`]: 'b', [`${place}2.sku`]: 'c' };
    const inner = itemsOf(shown, texts)[2]?.fields.find(({ name }) => name === 'parts') ?? shown;
    texts = { ...addItem(inner, texts), [`${place}2.parts.0.name`]: 'd' };
    const left = [
      { sku: 'a', count: 1 },
      { sku: 'c', count: 1, parts: [{ name: 'd' }] },
    ];
    const value = shown.key === '' ? left : { lines: left };
    expect(readAnswer(whole, removeItem(shown, texts, 1))).toEqual({ value });
    expect(removeItem(shown, texts, 2)).not.toHaveProperty(`${place}2.parts`);
  });

  test('has a message if it has too few items, and those of the server beside the fields of its items', () => {
    expect(readAnswer(form, { lines: '0', more: '0' })).toEqual({ errors: { lines: 'Expected at least 1, got 0.' } });
    const error =
      'an answer that does not match the requested schema: lines.1.parts.0.name: wrong; lines.2.x: odd; lines: few';
    expect(refusedFields(form, error)).toEqual({
      errors: { 'lines.1.parts.0.name': 'wrong', lines: 'few' },
    });
  });
});

describe('refusedFields', () => {
  const refused = 'newMessage: the request "r" has an answer that does not match the requested schema: ';

  test('finds the fields that an error of the server names', () => {
    expect(refusedFields(root, `${refused}name: too short; tags.0: too long; address.street: wrong`)).toEqual({
      errors: { name: 'too short', tags: 'too long', 'address.street': 'wrong' },
    });
    expect(refusedFields(fieldOf({ type: 'number' }), `${refused}value: too small`)).toEqual({
      errors: { '': 'too small' },
    });
  });

  test.each([`${refused}other: is not allowed`, 'no answer from the server'])('keeps the whole of %j', (error) => {
    expect(refusedFields(root, error)).toMatchObject({ rest: error });
  });
});
