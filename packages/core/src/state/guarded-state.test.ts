import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { createEventActions } from '../event/event-actions.ts';
import { guardState, unguardState } from './guarded-state.ts';
import { State } from './state.ts';

test('a guarded state is read like the view behind it, and shows its later changes', () => {
  const view: Record<string, unknown> = { a: 1 };
  const guarded = guardState(view);
  expect({ ...guarded }).toEqual({ a: 1 });
  new State(guarded, createEventActions()).set('b', 2);
  expect([guarded['b'], 'b' in guarded, Object.keys(guarded)]).toEqual([2, true, ['a', 'b']]);
  expect(unguardState(guarded)).toBe(view);
  expect(guardState(guarded)).toBe(guarded);
});

test.each<[string, (state: Record<string, unknown>) => unknown, string]>([
  ['an assignment', (state) => (state['a'] = 2), 'set("a", value)'],
  ['Object.assign', (state) => Object.assign(state, { a: 2 }), 'set("a", value)'],
  ['delete', (state) => delete state['a'], 'remove("a")'],
  ['Object.defineProperty', (state) => Object.defineProperty(state, 'a', { value: 2 }), 'set("a", value)'],
])('%s to a guarded state throws and says what to write', (_how, write, instead) => {
  const view = { a: 1 };
  const act = (): unknown => write(guardState(view) as Record<string, unknown>);
  expect(act).toThrow(ConfigurationError);
  expect(act).toThrow(`session.state["a"]: session.state can only be read; write context.state.${instead}`);
  expect(view).toEqual({ a: 1 });
});
