import { expect, test } from 'vitest';
import { type AnyNodes, type Channels, END, START, StateGraph } from './index.ts';

/** The label of an arrow with this route. */
function labelOf(route: string): string | undefined {
  const chart = new StateGraph<Channels, AnyNodes>({ name: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addRoutes('a', { [route]: END })
    .compile()
    .toMermaid();
  return /-- "(.*)" -->/.exec(chart)?.[1];
}

test.each([
  ['1. first', '1#46; first'],
  ['12.', '12#46;'],
  ['- item', '#45; item'],
  ['  - item', '  #45; item'],
  ['---', '#45;--'],
  ['* item', '#42; item'],
])('the route "%s" is drawn as text, not as a list', (route, label) => {
  expect(labelOf(route)).toBe(label);
});

test.each(['go-on', 'v1.2', 'is it 1. or 2.'])('the route "%s" is written unchanged', (route) => {
  expect(labelOf(route)).toBe(route);
});
