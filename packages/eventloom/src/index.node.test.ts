import * as artifacts from '@eventloom/artifacts';
import * as core from '@eventloom/core';
import * as credentials from '@eventloom/credentials';
import * as gemini from '@eventloom/gemini';
import * as graph from '@eventloom/graph';
import * as live from '@eventloom/live';
import * as llmAgent from '@eventloom/llm-agent';
import * as memory from '@eventloom/memory';
import * as multiAgent from '@eventloom/multi-agent';
import * as runner from '@eventloom/runner';
import * as sessions from '@eventloom/sessions';
import * as tools from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as eventloom from './index.ts';

const packages: readonly Readonly<Record<string, unknown>>[] = [
  core,
  tools,
  multiAgent,
  graph,
  live,
  llmAgent,
  gemini,
  sessions,
  artifacts,
  memory,
  credentials,
];

test('re-exports each value from its own package', () => {
  const { Runner: _runner, InMemoryRunner: _inMemoryRunner, ...values } = eventloom;
  const foreign = Object.entries(values).filter(([name, value]) => !packages.some((module) => module[name] === value));
  expect(foreign).toEqual([]);
});

test('Runner extends the Runner of @eventloom/runner with live runs', () => {
  expect(eventloom.Runner.prototype).toBeInstanceOf(runner.Runner);
});
