import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { uninstalledPackages, unlinkedQuotes, withCurrentQuotes } from './quoted-files.ts';

const root = join(import.meta.dirname, '../..');
const readFile = (path: string): string => readFileSync(join(root, path), 'utf8');
const guides = globSync(['README.md', 'docs/guide/*.md', 'packages/*/README.md'], { cwd: root });

test('there are guides', () => {
  expect(guides).not.toEqual([]);
});

test.each(guides)('%s quotes its files unchanged (after a change: pnpm docs:update)', async (guide) => {
  await expect(withCurrentQuotes(readFile(guide), readFile)).toMatchFileSnapshot(join(root, guide));
});

test.each(guides)('%s links to the files that it quotes in part', (guide) => {
  expect(unlinkedQuotes({ path: guide, text: readFile(guide) })).toEqual([]);
});

test.each(guides.filter((guide) => guide !== 'README.md'))('%s installs the packages that it imports', (guide) => {
  expect(uninstalledPackages(readFile(guide))).toEqual([]);
});

test('a page that imports a package without installing it is reported', () => {
  const page = (install: string): string =>
    `${install}\n\n\`\`\`ts\nimport fs from 'node:fs';\nimport {\n  a,\n} from '@a/b/c';\nimport d from 'd';\n\`\`\`\n`;
  expect(uninstalledPackages(page('npm install'))).toEqual(['@a/b', 'd']);
  expect(uninstalledPackages(page('Run `npm install @a/b d`.'))).toEqual([]);
});

test('a quote of a part without a link to its file or folder is reported', () => {
  const quote = '<!-- quote: examples/a/agent.ts#one -->\n';
  const unlinked = (text: string): string[] => unlinkedQuotes({ path: 'docs/guide/a.md', text });
  expect(unlinked(`${quote}[b](../../examples/b)`)).toEqual(['examples/a/agent.ts']);
  expect(unlinked(`${quote}[a](../../examples/a)`)).toEqual([]);
  expect(unlinked(`${quote}[a](../../examples/a/agent.ts)`)).toEqual([]);
});

describe('a quote', () => {
  const guide = (code: string): string => `# Title\n\n<!-- quote: a.ts -->\n\`\`\`ts\n${code}\`\`\`\n\nText\n`;

  test('that equals its file passes', () => {
    expect(withCurrentQuotes(guide('const a = 1;\n'), () => 'const a = 1;\n')).toBe(guide('const a = 1;\n'));
  });

  test('that differs from its file is updated, including dollar signs', () => {
    const read = (path: string): string => `const $1 = '$&';\n// ${path}\n`;
    expect(withCurrentQuotes(guide('const a = 1;\n'), read)).toBe(guide("const $1 = '$&';\n// a.ts\n"));
    expect(withCurrentQuotes(guide(''), read)).toBe(guide("const $1 = '$&';\n// a.ts\n"));
  });

  test('of one of several files is replaced by that file', () => {
    const both = guide('') + guide('').replace('a.ts', 'b.ts');
    expect(withCurrentQuotes(both, (path) => `${path}\n`)).toBe(
      guide('a.ts\n') + guide('b.ts\n').replace('quote: a.ts', 'quote: b.ts'),
    );
  });

  test.each([
    ['one', 'const one = 1;\n'],
    ['two', 'export const two = [\n  2,\n\n  2,\n];\n'],
    ['three', 'class three {\n  run() {}\n}\n'],
    ['four', 'const four = (\n  a: number,\n): number =>\n  a;\n'],
  ])('of the declaration %s contains only that declaration', (name, expected) => {
    const file =
      'const one = 1;\nexport const two = [\n  2,\n\n  2,\n];\n\nclass three {\n  run() {}\n}\nconst four = (\n  a: number,\n): number =>\n  a;\n\n/** One more. */\nconst oneMore = 1;\n';
    const quote = (code: string): string => guide(code).replace('a.ts', `a.ts#${name}`);
    expect(withCurrentQuotes(quote(''), () => file)).toBe(quote(expected));
  });

  describe('of a declaration', () => {
    const file = [
      "import { join } from 'node:path';",
      "import { type Event, LlmAgent, Runner as Loop } from 'eventloom';",
      "import * as z from 'zod';",
      "import { model } from './model.ts';",
      '',
      'const first = new LlmAgent({ model });',
      'const second = (event: Event) => new LlmAgent(join(event));',
      'const third = (event: Event) => z.string();',
      'const fourth = new Loop();',
      '',
    ].join('\n');
    const quoted = (names: readonly string[]): string[] => {
      const page = names.map((name) => guide('').replace('a.ts', `a.ts#${name}`)).join('');
      const blocks = withCurrentQuotes(page, () => file).matchAll(/```ts\n([\s\S]*?)```/g);
      return Array.from(blocks, ([, code = '']) => code);
    };

    test('has the imports of the file that the declaration uses', () => {
      expect(quoted(['first'])).toEqual([
        "import { LlmAgent } from 'eventloom';\nimport { model } from './model.ts';\n\nconst first = new LlmAgent({ model });\n",
      ]);
    });

    test('has no import that an earlier quote of the file has', () => {
      expect(quoted(['first', 'second'])[1]).toBe(
        "import { join } from 'node:path';\nimport type { Event } from 'eventloom';\n\nconst second = (event: Event) => new LlmAgent(join(event));\n",
      );
    });

    test('imports a namespace, and a name under another name, as the file does', () => {
      expect(quoted(['third', 'fourth'])).toEqual([
        "import type { Event } from 'eventloom';\nimport * as z from 'zod';\n\nconst third = (event: Event) => z.string();\n",
        "import { Runner as Loop } from 'eventloom';\n\nconst fourth = new Loop();\n",
      ]);
    });

    test('breaks an import that is longer than a line', () => {
      const names = Array.from({ length: 12 }, (_, index) => `configuration${index}`);
      const long = `import { ${names.join(', ')} } from 'eventloom';\nconst all = [${names.join(', ')}];\n`;
      const page = guide('').replace('a.ts', 'a.ts#all');
      expect(withCurrentQuotes(page, () => long)).toContain(
        `import {\n  ${names.join(',\n  ')},\n} from 'eventloom';\n\n`,
      );
    });
  });

  test('of a missing declaration is reported', () => {
    const quote = guide('').replace('a.ts', 'a.ts#two');
    expect(() => withCurrentQuotes(quote, () => 'const twofold = 1;\n')).toThrow('a.ts declares no two');
  });

  test('whose marker is not followed by a block of code is reported', () => {
    expect(() => withCurrentQuotes('<!-- quote: a.ts -->\n\n```ts\n```\n', () => '')).toThrow('1 of 1');
  });
});
