import { describe, expect, test } from 'vitest';
import { planCalls } from './plan-calls.ts';

const plan = (text: string): string[] =>
  planCalls(text).map(({ name, args }) => [name, ...Object.values(args ?? {})].join(' '));

describe('planCalls', () => {
  test.each([
    ['What is the weather in Rome, and what is 17% of 340?', ['get_weather Rome', 'calculate 17% of 340']],
    ['Is it raining in new york or tokyo', ['get_weather New York', 'get_weather Tokyo']],
    ['How hot is it in São Paulo and Rio de Janeiro?', ['get_weather São Paulo', 'get_weather Rio de Janeiro']],
    ['weather in atlantis', ['get_weather atlantis']],
    ['12 plus 30 divided by 5', ['calculate 12 + 30 / 5']],
    ['5 x 6, the square root of 16 and 1,234 + 1', ['calculate 5 * 6', 'calculate sqrt 16', 'calculate 1234 + 1']],
    ['17 percent of 340', ['calculate 17% of 340']],
    ['what is 1 / 0?', ['calculate 1 / 0']],
    ['remember to call Bob. Thanks', ['save_note call Bob']],
    ['what are my notes?', ['list_notes']],
    ['Save a file todo.md with "a, b and 1 + 1"', ['save_file todo.md a, b and 1 + 1']],
    ['write a file containing eggs and milk; what is 2 + 2', ['calculate 2 + 2', 'save_file note.txt eggs and milk']],
    ['hello', []],
    ['the top 10 of 2024, on 2024-05-06', []],
    ['', []],
    ['((((', []],
    ['🙂'.repeat(1000), []],
  ])('%s', (text, calls) => {
    expect(plan(text)).toEqual(calls);
  });

  test('reads only the beginning of a long text', () => {
    expect(plan('1 + 1, 1 + 2, 1 + 3, 1 + 4, 1 + 5, 1 + 6, 1 + 7, 1 + 8, 1 + 9, weather in Rome')).toHaveLength(8);
  });
});
