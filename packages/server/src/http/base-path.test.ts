import { describe, expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { checkBasePath, isBasePath, pathBelow } from './base-path.ts';

test.each([
  ['/agents', true],
  ['/api/agents', true],
  ['agents', false],
  ['/agents/', false],
  ['/../agents', false],
  ['', false],
  [5, false],
])('isBasePath of %j is %s', (path, expected) => {
  expect(isBasePath(path)).toBe(expected);
});

test.each([
  ['/agents/run', '/run'],
  ['/agents', '/'],
  ['/run', '/run'],
  ['/agentsrun', '/agentsrun'],
])('pathBelow takes the base path /agents from %s', (path, expected) => {
  expect(pathBelow('/agents', path)).toBe(expected);
});

describe('checkBasePath', () => {
  const routes = [{ path: '/run' }, { path: '/apps/{appName}/users/{userId}' }, { path: '/studio/{path+}' }];

  test.each(['/run', '/apps', '/studio'])('refuses %s, with which a route begins', (basePath) => {
    expect(() => checkBasePath(basePath, routes)).toThrow(
      `basePath: "${basePath}" is also the beginning of the route /`,
    );
  });

  test.each(['', '/agents', '/ru', '/run/agents'])('accepts %j', (basePath) => {
    expect(() => checkBasePath(basePath, routes)).not.toThrow();
  });
});

test.each(['/apps', '/openapi.json'])('a server is not created with the base path %s', (basePath) => {
  expect(() => createServer({ runners: [], basePath })).toThrow('is also the beginning of the route');
});
