import { Visitor } from 'oxc-parser';
import { parseModule } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** Names of limits in the options of a test, a hook, `vi.setConfig`, `expect.poll` and a wait for a page. */
const LIMITS = new Set(['timeout', 'testTimeout', 'hookTimeout']);
/** Functions whose argument or option is the time that a test may take; `expect.poll` and waits of Playwright are methods. */
const TAKERS = new Set(['test', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach', 'expect', 'vi']);

/**
 * Returns the places in tests and their fixtures where a machine that does other work makes a test fail: limits that are shorter than
 * `leastMs`, and the functions of vitest that give up after a second.
 */
export function shortTimeLimits(files: readonly SourceFile[], leastMs: number): string[] {
  return files
    .filter(
      ({ path, text }) =>
        (isTestFile(path) || path.startsWith('tests/')) && /\bvi\.wait|imeout|, [\d_]+\);$/m.test(text),
    )
    .flatMap((file) => {
      const found: string[] = [];
      const report = (start: number, what: string): void => {
        found.push(`${file.path}:${file.text.slice(0, start).split('\n').length} ${what}`);
      };
      new Visitor({
        CallExpression(call) {
          const { start } = call;
          const callee = file.text.slice(start, call.callee.end);
          if (/^vi\.wait(For|Until)$/.test(callee)) report(start, 'waits with vi: write expect.poll');
          const name = /^\w+/.exec(callee)?.[0] ?? '';
          const isTaker = TAKERS.has(name) || /\.(waitFor|setDefaultTimeout)$/.test(callee);
          if (!isTaker) return;
          const isNumber = callee.endsWith('.setDefaultTimeout') || (call.arguments.length > 1 && name !== 'expect');
          for (const each of call.arguments) {
            if (isNumber && each.type === 'Literal' && typeof each.value === 'number' && each.value < leastMs)
              report(start, `has the limit ${each.value}`);
            if (each.type !== 'ObjectExpression') continue;
            for (const property of each.properties) {
              if (property.type !== 'Property' || property.value.type !== 'Literal') continue;
              const key = file.text.slice(property.key.start, property.key.end);
              const { value } = property.value;
              if (LIMITS.has(key) && typeof value === 'number' && value < leastMs)
                report(start, `has the limit ${value}`);
            }
          }
        },
      }).visit(parseModule(file).program);
      return found;
    });
}
