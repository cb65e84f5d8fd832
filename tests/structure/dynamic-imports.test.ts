import { expect, test } from 'vitest';
import { dynamicImports } from './dynamic-imports.ts';
import { readPackages } from './repository.ts';

test('the packages load on demand only these parts, of at most three', () => {
  const found = dynamicImports(readPackages().flatMap(({ files }) => files));
  expect(found).toEqual([
    'packages/gemini/src/client/create-genai-client.ts loads @google/genai',
    'packages/openapi/src/document.ts loads yaml',
    'packages/server/src/node/serve.ts loads ./live-upgrades.ts',
  ]);
});

test('an import() of a file or of an expression is reported, one in a test or of a type is not', () => {
  const text = "export const load = () => import('./part.ts'); export const other = (name: string) => import(name);";
  const type = "export type Part = typeof import('./part.ts').part;";
  const files = [
    { path: 'packages/x/src/a.ts', text },
    { path: 'packages/x/src/a.test.ts', text },
    { path: 'packages/x/src/b.ts', text: type },
  ];
  expect(dynamicImports(files)).toEqual([
    'packages/x/src/a.ts loads ./part.ts',
    'packages/x/src/a.ts loads an expression',
  ]);
});
