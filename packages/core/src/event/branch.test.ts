import { describe, expect, test } from 'vitest';
import { branchBelow, branchInScope, enclosedBranch, enclosureOf, isVisibleOn } from './branch.ts';
import { createEvent } from './create-event.ts';

test('branchBelow appends a name after a dot', () => {
  expect(branchBelow(undefined, 'par')).toBe('par');
  expect(branchBelow('par', 'a')).toBe('par.a');
});

test('enclosedBranch appends one segment for any call id', () => {
  expect(enclosedBranch('par.a', 'helper', 'call_1')).toBe('par.a.helper@call_1');
  expect(enclosedBranch(undefined, 'helper', 'a.b@c')).toBe('helper@a%2Eb%40c');
});

test.each([
  [undefined, ''],
  ['par.a', ''],
  ['helper@1', 'helper@1'],
  ['par.a.helper@1.par.b', 'par.a.helper@1'],
  ['helper@1.other@2', 'helper@1.other@2'],
])('the enclosure of %s is %j', (branch, enclosure) => {
  expect(enclosureOf(branch)).toBe(enclosure);
});

test.each([
  [undefined, 'fc-1', undefined],
  ['par.a', 'fc-1', 'par.a'],
  ['a@fc-1', 'fc-1', undefined],
  ['par.a@fc-1.b', 'fc-1', 'par.b'],
  ['a@fc-1.b@fc-2', 'fc-2', undefined],
  ['par.a@fc-1.b@fc-2', 'fc-2', 'par'],
  // An agent that was called as a tool, and not a task of adk-python.
  ['helper@1', 'fc-1', 'helper@1'],
  ['helper@1', undefined, 'helper@1'],
])('the branch %s in the scope %s is %s', (branch, isolationScope, expected) => {
  const place = { ...(branch !== undefined && { branch }), ...(isolationScope !== undefined && { isolationScope }) };
  expect(branchInScope(createEvent(place))).toBe(expected);
});

describe('an event', () => {
  test.each([
    [undefined, undefined],
    ['par.a', undefined],
    [undefined, 'par.a'],
    ['', 'par.a'],
    ['par.a', 'par.a'],
    ['par', 'par.a'],
    ['helper@1', 'helper@1.par.a'],
    ['helper@1.par.a', 'helper@1'],
    ['helper@1.par', 'helper@1.par.a'],
  ])('on branch %j is seen from %j', (eventBranch, branch) => {
    expect(isVisibleOn(eventBranch, branch)).toBe(true);
  });

  test.each([
    ['par.a', 'par.b'],
    ['par.a', 'par'],
    ['par.a', 'par.ab'],
    ['helper@1', undefined],
    [undefined, 'helper@1'],
    ['helper@1', 'helper@2'],
    ['helper@1', 'helper@10'],
    ['par', 'par.helper@1'],
    ['helper@1', 'helper@1.other@2'],
    ['helper@1.par.a', 'helper@1.par.b'],
  ])('on branch %j is not seen from %j', (eventBranch, branch) => {
    expect(isVisibleOn(eventBranch, branch)).toBe(false);
  });
});
