import { describe, expect, test } from 'vitest';
import { ExpressionError } from '../../errors.ts';
import { calculate } from './calculate.ts';

describe('calculate', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['10 - 4 - 3', 3],
    ['7 mod 3', 1],
    ['17% of 340', 57.8],
    ['50%', 0.5],
    ['0.1 + 0.2', 0.3],
    ['sqrt(16) + sqrt 9', 7],
    ['min(3, 1, 2) * max(1, 2)', 2],
    ['round(2 * PI)', 6],
    ['1.5e3 × 2 ÷ 3 − 1', 999],
    ['.5 * 4', 2],
  ])('%s is %d', (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  test.each([
    ['', 'ends too early'],
    ['1 +', 'ends too early'],
    ['1 2', '"2" is not expected here'],
    ['(1', 'a parenthesis is not closed'],
    ['1 / 0', 'no finite result'],
    ['sqrt(-1)', 'no finite result'],
    ['process.exit()', '"." is not allowed in an expression'],
    ['constructor', '"constructor" is not expected here'],
    ['__proto__', '"_" is not allowed in an expression'],
    ['x', '"x" is not expected here'],
    ['9'.repeat(501), 'longer than 500 characters'],
    [`${'('.repeat(200)}1${')'.repeat(200)}`, 'nests deeper than'],
    ['-'.repeat(400), 'nests deeper than'],
  ])('%j is refused: %s', (expression, message) => {
    expect(() => calculate(expression)).toThrow(ExpressionError);
    expect(() => calculate(expression)).toThrow(message);
  });
});
