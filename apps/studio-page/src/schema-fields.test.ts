import { describe, expect, test } from 'vitest';
import {
  addItem,
  chooseVariant,
  fieldOf,
  type FieldTexts,
  type FormField,
  initialTexts,
  itemsOf,
  readAnswer,
  refusedFields,
  removeItem,
  variantOf,
} from './schema-fields.ts';

/** Returns the field of a kind at a place, such as `address.zip`. */
function find<K extends FormField['kind']>(root: FormField, place: string, kind: K): Extract<FormField, { kind: K }> {
  const found = place
    .split('.')
    .filter(Boolean)
    .reduce<FormField | undefined>(
      (field, name) =>
        field?.kind === 'items'
          ? field.itemAt(Number(name))
          : field?.kind === 'group'
            ? field.fields.find((each) => each.name === name)
            : undefined,
      root,
    );
  if (found?.kind !== kind) throw new Error(`expected ${kind} at ${place}, got ${found?.kind}`);
  return found as Extract<FormField, { kind: K }>;
}

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
const texts = { ...initialTexts(root), '/name': 'Ann', '/address/street': 'Main Street' };

describe('fieldOf', () => {
  test('creates inputs that the browser checks by the schema', () => {
    expect(find(root, 'name', 'input')).toMatchObject({
      isRequired: true,
      attributes: { type: 'text', minLength: 3, pattern: '.*(?:^[A-Z]).*' },
    });
    // The type of the input has a pattern of its own.
    expect(find(root, 'email', 'input').attributes).toEqual({ type: 'email' });
    const count = find(root, 'count', 'input');
    expect(count).toMatchObject({ initial: '2', attributes: { type: 'number', step: 1, max: 5 } });
    expect(count.attributes).not.toHaveProperty('min');
    expect(find(root, 'size', 'choice').choices).toEqual(['S', 'M']);
    expect(find(root, 'more.0', 'json')).toMatchObject({ key: '/more/0' });
    expect(find(root, 'address.street', 'input')).toMatchObject({ key: '/address/street', isRequired: true });
  });

  test.each([
    [{ const: 'fixed' }, ['fixed']],
    [{ anyOf: [{ const: 1 }, { const: 2 }, { enum: ['x', true] }] }, [1, 2, 'x', true]],
    [{ anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] }, ['a', 'b']],
  ])('creates a choice for the values of %j', (schema, choices) => {
    const field = fieldOf(schema);
    expect(field).toMatchObject({ kind: 'choice', choices, initial: '' });
    for (const value of choices) expect(readAnswer(field, { '': String(value) })).toEqual({ value });
  });

  test('keeps properties apart whose names have dots, slashes or those of all objects', () => {
    const string = { type: 'string' };
    const inner = { type: 'object', required: ['b'], properties: { b: string } };
    const properties = { 'a.b': string, a: inner, 'a/b': string, constructor: string, 'a#': string };
    const field = fieldOf({ type: 'object', required: Object.keys(properties), properties });
    expect(initialTexts(field)['constructor']).toBe(Object.prototype.constructor);
    const written = Object.fromEntries(Object.keys(initialTexts(field)).map((key) => [key, key]));
    expect(Object.keys(written)).toHaveLength(5);
    expect(readAnswer(field, written)).toEqual({
      value: { 'a.b': '/a.b', a: { b: '/a/b' }, 'a/b': '/a~1b', constructor: '/constructor', 'a#': '/a~2' },
    });
  });

  test('shows JSON of the right type where there is no simple field', () => {
    const string = { type: 'string' };
    for (const [schema, example] of [
      [{ type: 'array' }, '[]'],
      [{ type: 'object', additionalProperties: string }, '{}'],
      [{}, '{}'],
    ] as const)
      expect(fieldOf(schema)).toMatchObject({ kind: 'json', example });
  });

  test('creates one field for a schema that is not an object, and without a schema', () => {
    expect(fieldOf({ type: 'number' })).toMatchObject({ key: '', kind: 'input', type: 'number' });
    expect(fieldOf()).toMatchObject({ key: '', kind: 'input', type: 'text' });
    expect(readAnswer(fieldOf({ type: 'number' }), { '': '4' })).toEqual({ value: 4 });
  });
});

describe('readAnswer', () => {
  test('leaves out fields that are empty and not required', () => {
    const value = { name: 'Ann', count: 2, gift: false, tags: [], address: { street: 'Main Street' }, note: null };
    expect(readAnswer(root, texts)).toEqual({ value });
  });

  test('has the moment that a default names, which the field shows as local time', () => {
    for (const value of ['2026-01-02T03:04:05.000Z', '2026-07-02T23:04:05.678Z']) {
      const field = find(fieldOf({ type: 'string', format: 'date-time', default: value }), '', 'input');
      expect(field.initial).toMatch(/^2026-0\d-0\dT\d\d:04:05(\.678)?$/);
      expect(new Date(field.initial).toISOString()).toBe(value);
      expect(readAnswer(field, initialTexts(field))).toEqual({ value });
    }
    expect(find(fieldOf({ type: 'string', format: 'date-time', default: 'soon' }), '', 'input').initial).toBe('');
  });

  test('reads lists by line, numbers, choices, times and JSON', () => {
    const filled = {
      ...texts,
      '/tags': 'red\n\nblue',
      '/numbers': '1\n2.5',
      '/size': 'M',
      '/gift': 'true',
      '/note': 'soon\nor later',
      '/when': '2026-01-02T03:04:05',
      '/more': '1',
      '/more/0': '{"a": 1}',
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
        note: 'soon\nor later',
        when: new Date('2026-01-02T03:04:05').toISOString(),
        more: [{ a: 1 }],
      },
    });
  });

  test('returns a message for each field that it cannot read', () => {
    expect(readAnswer(root, { ...texts, '/numbers': '1\nx', '/more': '1', '/more/0': 'red' })).toEqual({
      errors: {
        '/numbers': 'Expected a number on each line, got “x”.',
        '/more/0': 'Expected JSON, such as {"approved": true} or ["a", "b"].',
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
  const list = find(form, 'lines', 'items');

  test('has the fields of each item, and begins with the required number of items', () => {
    expect(list).toMatchObject({ minItems: 1, maxItems: 3 });
    const texts = initialTexts(form);
    expect(itemsOf(list, texts)).toMatchObject([{ kind: 'group', label: 'lines 1' }]);
    expect(texts).toMatchObject({ '/lines': '1', '/lines/0/count': '1', '/lines/0/parts': '0', '/more': '0' });
    expect(readAnswer(form, { ...texts, '/lines/0/sku': 'a' })).toEqual({ value: { lines: [{ sku: 'a', count: 1 }] } });
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
    [form, 'lines'],
    [fieldOf(lines), ''],
  ])('keeps the texts of the other items when one is removed', (whole, place) => {
    const shown = find(whole, place, 'items');
    const key = (inner: string): string => `${shown.key}/${inner}`;
    let texts = addItem(shown, addItem(shown, initialTexts(whole)));
    texts = { ...texts, [key('0/sku')]: 'a', [key('1/sku')]: 'b', [key('2/sku')]: 'c' };
    texts = { ...addItem(find(shown.itemAt(2), 'parts', 'items'), texts), [key('2/parts/0/name')]: 'd' };
    const left = [
      { sku: 'a', count: 1 },
      { sku: 'c', count: 1, parts: [{ name: 'd' }] },
    ];
    const value = shown.key === '' ? left : { lines: left };
    expect(readAnswer(whole, removeItem(shown, texts, 1))).toEqual({ value });
    expect(removeItem(shown, texts, 2)).not.toHaveProperty(key('2/parts'));
  });

  test('has a message if it has too few items, and those of the server beside the fields of its items', () => {
    expect(readAnswer(form, { '/lines': '0', '/more': '0' })).toEqual({
      errors: { '/lines': 'Expected at least 1, got 0.' },
    });
    const error =
      'an answer that does not match the requested schema: lines.1.parts.0.name: wrong; lines.2.sku: odd; lines: few';
    const texts = { '/lines': '2', '/lines/1/parts': '1' };
    expect(refusedFields(form, texts, error)).toEqual({
      errors: { '/lines/1/parts/0/name': 'wrong', '/lines': 'few' },
    });
  });
});

describe('a group that may be absent', () => {
  const country = { type: 'string', default: 'IT' };
  const shipping = { type: 'object', required: ['street'], properties: { street: { type: 'string' }, country } };
  const formWith = (schema: object, isRequired = false) =>
    fieldOf({ type: 'object', required: isRequired ? ['shipping'] : [], properties: { shipping: schema } });
  const form = formWith(shipping);
  const group = find(form, 'shipping', 'variants');
  const added = chooseVariant(group, initialTexts(form), '0');

  test('is left out until it is added, although its fields have defaults, and then requires what its schema requires', () => {
    expect(readAnswer(form, initialTexts(form))).toEqual({ value: {} });
    expect(variantOf(group, added)?.createField()).toMatchObject({
      kind: 'group',
      fields: [
        { key: '/shipping/street', isRequired: true },
        { key: '/shipping/country', isRequired: false, initial: 'IT' },
      ],
    });
    expect(readAnswer(form, { ...added, '/shipping/street': 'Via Roma' })).toEqual({
      value: { shipping: { street: 'Via Roma', country: 'IT' } },
    });
    expect(chooseVariant(group, added, '')).toEqual(initialTexts(form));
  });

  test('is present from the beginning if it has a default', () => {
    for (const given of [
      formWith({ ...shipping, default: { street: 'Via Roma' } }),
      fieldOf({ type: 'object', properties: { shipping }, default: { shipping: { street: 'Via Roma' } } }),
    ])
      expect(readAnswer(given, initialTexts(given))).toEqual({
        value: { shipping: { street: 'Via Roma', country: 'IT' } },
      });
  });

  test('is null if it is required and may be null', () => {
    const nullable = formWith({ anyOf: [shipping, { type: 'null' }] }, true);
    expect(readAnswer(nullable, initialTexts(nullable))).toEqual({ value: { shipping: null } });
  });

  test('has the messages of the server beside its fields, and the others beside itself', () => {
    const refused = 'requested schema: ';
    expect(refusedFields(form, added, `${refused}shipping.street: wrong; shipping: odd`)).toEqual({
      errors: { '/shipping/street': 'wrong', '/shipping#': 'odd' },
    });
    expect(refusedFields(form, initialTexts(form), `${refused}shipping.street: wrong`)).toEqual({
      errors: { '/shipping#': 'wrong' },
    });
  });
});

describe('a value that has one of several shapes', () => {
  const card = {
    type: 'object',
    required: ['kind', 'number'],
    properties: { kind: { const: 'card' }, number: { type: 'string' } },
  };
  const cash = {
    type: 'object',
    required: ['kind'],
    properties: { kind: { const: 'cash' }, coins: { type: 'boolean' } },
  };

  test('has the fields of the chosen variant, and the values that distinguish it', () => {
    const form = fieldOf({ anyOf: [card, cash] });
    const field = find(form, '', 'variants');
    expect(field.variants.map(({ label }) => label)).toEqual(['card', 'cash']);
    const chosen = { ...chooseVariant(field, initialTexts(form), '0'), '/number': '12' };
    expect(readAnswer(form, chosen)).toEqual({ value: { kind: 'card', number: '12' } });
    const changed = { ...chooseVariant(field, chosen, '1'), '/coins': 'true' };
    expect(changed).not.toHaveProperty('/number');
    expect(readAnswer(form, changed)).toEqual({ value: { kind: 'cash', coins: true } });
  });

  test('begins with the variant of its default', () => {
    for (const value of [{ kind: 'cash', coins: true }, { kind: 'card', number: '12' }, 'later', 12]) {
      const form = fieldOf({ oneOf: [card, cash, { type: 'string' }, { type: 'number' }], default: value });
      expect(readAnswer(form, initialTexts(form))).toEqual({ value });
    }
  });

  test('is a list with fields of their own for its items, or a text', () => {
    const pair = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer', title: 'Count' }] };
    const tuple = fieldOf({ ...pair, default: ['a', 2] });
    expect(tuple).toMatchObject({ kind: 'tuple', fields: [{ label: '1', isRequired: true }, { label: 'Count' }] });
    expect(readAnswer(tuple, initialTexts(tuple))).toEqual({ value: ['a', 2] });
    expect(refusedFields(tuple, {}, 'requested schema: 1: too small')).toEqual({ errors: { '/1': 'too small' } });
    const form = fieldOf({ anyOf: [pair, { type: 'string' }, { type: 'string', format: 'email' }] });
    const field = find(form, '', 'variants');
    expect(field.variants.map(({ label }) => label)).toEqual(['list', 'text 2', 'text 3']);
    const chosen = { ...chooseVariant(field, {}, '0'), '/0': 'a', '/1': '2' };
    expect(readAnswer(form, chosen)).toEqual({ value: ['a', 2] });
    const optional = fieldOf({ type: 'object', properties: { pair } });
    expect(readAnswer(optional, initialTexts(optional))).toEqual({ value: {} });
  });

  test('may be a text or a number, which are read as such', () => {
    const form = fieldOf({ type: 'object', properties: { size: { type: ['string', 'integer'] } } });
    const field = find(form, 'size', 'variants');
    expect(readAnswer(form, initialTexts(form))).toEqual({ value: {} });
    const read = (chosen: string) => readAnswer(form, { ...chooseVariant(field, {}, chosen), '/size': '12' });
    expect([read('0'), read('1')]).toEqual([{ value: { size: '12' } }, { value: { size: 12 } }]);
  });
});

describe('a schema with references', () => {
  const $defs = {
    address: { type: 'object', title: 'Address', required: ['zip'], properties: { zip: { $ref: '#/$defs/a~1zip' } } },
    'a/zip': { type: 'string', minLength: 5 },
    person: {
      allOf: [
        { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        { required: ['home'], properties: { home: { $ref: '#/$defs/address', title: 'Home' } } },
      ],
    },
    tree: {
      type: 'object',
      required: ['name', 'children'],
      properties: {
        name: { type: 'string' },
        children: { type: 'array', items: { $ref: '#/$defs/tree' } },
        next: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
      },
    },
    endless: {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { $ref: '#/$defs/endless' }, b: { $ref: '#/$defs/endless' } },
    },
    full: {
      type: 'object',
      required: ['items'],
      properties: {
        items: { type: 'array', minItems: 1, items: { $ref: '#/$defs/full' } },
        next: { $ref: '#/$defs/full', default: {} },
      },
    },
    circle: { $ref: '#/$defs/circle' },
    either: { anyOf: [{ $ref: '#/$defs/either' }, { type: 'null' }] },
  };
  const formOf = (name: string) => fieldOf({ $ref: `#/$defs/${name}`, $defs });

  test('has the fields of the schemas that it refers to, and those of all parts', () => {
    const form = formOf('person');
    expect(find(form, 'home', 'group')).toMatchObject({ label: 'Home', isRequired: true });
    expect(find(form, 'home.zip', 'input')).toMatchObject({ isRequired: true, attributes: { minLength: 5 } });
    expect(readAnswer(form, { '/name': 'Ann', '/home/zip': '12345' })).toEqual({
      value: { name: 'Ann', home: { zip: '12345' } },
    });
  });

  test('has fields as deep as the person adds them if it contains itself', () => {
    const form = formOf('tree');
    let texts: FieldTexts = { ...addItem(find(form, 'children', 'items'), initialTexts(form)), '/name': 'a' };
    texts = { ...texts, '/children/0/name': 'b' };
    texts = { ...chooseVariant(find(form, 'children.0.next', 'variants'), texts, '0'), '/children/0/next/name': 'c' };
    expect(readAnswer(form, texts)).toEqual({
      value: { name: 'a', children: [{ name: 'b', children: [], next: { name: 'c', children: [] } }] },
    });
    expect(readAnswer(fieldOf({ $ref: '#' }), { '': '1' })).toEqual({ value: 1 });
  });

  test.each(['endless', 'full', 'circle', 'either', 'missing'])('has an end if it is %s', (name) => {
    const form = formOf(name);
    const texts = initialTexts(form);
    expect(Object.keys(texts).length).toBeLessThan(1000);
    expect(() => readAnswer(form, texts)).not.toThrow();
  });
});

describe('refusedFields', () => {
  const refused = 'newMessage: the request "r" has an answer that does not match the requested schema: ';

  test('finds the fields that an error of the server names', () => {
    expect(refusedFields(root, texts, `${refused}name: too short; tags.0: too long; address.street: wrong`)).toEqual({
      errors: { '/name': 'too short', '/tags': 'too long', '/address/street': 'wrong' },
    });
    expect(refusedFields(fieldOf({ type: 'number' }), { '': '1' }, `${refused}value: too small`)).toEqual({
      errors: { '': 'too small' },
    });
  });

  test.each([`${refused}other: is not allowed`, 'no answer from the server'])('keeps the whole of %j', (error) => {
    expect(refusedFields(root, texts, error)).toMatchObject({ rest: error });
  });
});
