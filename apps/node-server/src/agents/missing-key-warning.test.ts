import { LlmAgent } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { missingKeyWarning } from './missing-key-warning.ts';

const sessionService = new InMemorySessionService();

test('agents that name a model are warned of wherever they are in the tree, once an app', () => {
  const writer = new LlmAgent({ name: 'writer', model: 'gemini-a' });
  const reader = new LlmAgent({ name: 'reader', model: 'gemini-a' });
  const agent = new SequentialAgent({ name: 'pipeline', subAgents: [writer, reader] });
  const models = () => new ScriptedModel([]);
  const warning = missingKeyWarning([new Runner({ appName: 'app', agent, sessionService, models })]);
  expect(warning).toContain('app (gemini-a);');
});

test('agents with models of their own are not warned of', () => {
  const agent = new LlmAgent({ name: 'own', model: new ScriptedModel([]) });
  expect(missingKeyWarning([new Runner({ appName: 'app', agent, sessionService })])).toBeUndefined();
});
