import { expect, test } from 'vitest';
import { toWireTools } from './to-wire-tools.ts';

test('all function declarations are merged into the first entry, and other tools keep their order', () => {
  const search = { googleSearch: {} };
  const [f, g, h] = [{ name: 'f' }, { name: 'g' }, { name: 'h' }];
  const tools = [search, { functionDeclarations: [f] }, { functionDeclarations: [g, h], codeExecution: {} }, undefined];
  expect(toWireTools(tools)).toEqual([search, { functionDeclarations: [f, g, h] }, { codeExecution: {} }]);
});

test('function declarations are copied', () => {
  const declaration = { name: 'f', parameters: { type: 'object' } };
  const [tool] = toWireTools([{ functionDeclarations: [declaration] }]) as [{ functionDeclarations: object[] }];
  expect(tool.functionDeclarations[0]).toEqual(declaration);
  expect(tool.functionDeclarations[0]).not.toBe(declaration);
});

test('const in the parameters of a function becomes an enum', () => {
  const declaration = { name: 'f', parametersJsonSchema: { type: 'object', properties: { kind: { const: 'a' } } } };
  expect(toWireTools([{ functionDeclarations: [declaration] }])).toEqual([
    {
      functionDeclarations: [
        { name: 'f', parametersJsonSchema: { type: 'object', properties: { kind: { enum: ['a'] } } } },
      ],
    },
  ]);
});
