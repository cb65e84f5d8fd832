import type { BaseAgent, Event } from '@eventloom/core';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, type AgentToolConfig, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { createServer, type EventloomServer } from '@eventloom/server';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { storages } from './fixtures/storages.ts';

const look = new FunctionTool({ name: 'look', description: '', execute: () => 'seen' });
const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
const LOOK: ScriptedStep = { calls: [{ id: 'l1', name: 'look', args: {} }] };

function agentOf(name: string, steps: readonly ScriptedStep[], tools: (AgentTool | FunctionTool)[] = [look, pay]) {
  return new LlmAgent({ name, model: new ScriptedModel(steps), tools });
}

/** An agent that calls other agents as tools, all of them concurrently, and then says that it is done. */
function callerOf(agents: readonly BaseAgent[], options: Partial<AgentToolConfig> = { streamInner: true }): LlmAgent {
  const calls = agents.map(({ name }, index) => ({ id: `c${index}`, name, args: { request: 'do it' } }));
  const tools = agents.map((agent) => new AgentTool({ agent, ...options }));
  return agentOf(`calls_${agents[0]?.name}`, [{ calls }, { chunks: ['do', 'ne'] }], tools);
}

const helper = (name: string): LlmAgent => agentOf(name, [LOOK, { chunks: ['fo', 'und'] }]);
const nodes = (): BaseAgent =>
  new StateGraph({ name: 'steps' })
    .addNode('first', helper('thinker'))
    .addNode('second', helper('writer'))
    .addEdge(START, ['first', 'second'])
    .addEdge('first', END)
    .addEdge('second', END)
    .compile();

/** Agents in which the run yields events of sub-invocations. */
const agents: Record<string, () => BaseAgent> = {
  'an agent as a tool': () => callerOf([helper('helper')]),
  'two agents as tools at once': () => callerOf([helper('left'), helper('right')]),
  'agents as tools of parallel agents': () =>
    new ParallelAgent({ name: 'par', subAgents: [callerOf([helper('left')]), callerOf([helper('right')])] }),
  'an agent as a tool of an agent as a tool': () => callerOf([callerOf([helper('deep')])]),
  'a sequence as a tool': () =>
    callerOf([new SequentialAgent({ name: 'pair', subAgents: [helper('first'), helper('second')] })]),
  'a graph with agents': nodes,
  'a graph as a tool': () => callerOf([nodes()]),
  'an agent as a tool that asks a person': () =>
    callerOf([agentOf('helper', [{ calls: [{ id: 'p1', name: 'pay', args: {} }] }])], {}),
  'an agent as a tool, far down, that asks a person': () =>
    callerOf([callerOf([agentOf('helper', [{ calls: [{ id: 'p1', name: 'pay', args: {} }] }])], {})], {}),
};

interface Frame {
  readonly id: string;
  readonly event: Event;
}

function framesOf(text: string): Frame[] {
  return text.split('\n\n').flatMap((block) => {
    const [, id = '', json = ''] = /^id: (.*)\ndata: (.*)$/m.exec(block) ?? [];
    return json === '' ? [] : [{ id, event: JSON.parse(json) as Event }];
  });
}

const isWhole = ({ event }: Frame): boolean => event.partial !== true && !event.nodeEvent;

/** Runs the agent once, and returns the frames that its reader gets and the path of the run. */
async function readFirst(server: EventloomServer): Promise<{ readonly frames: Frame[]; readonly path: string }> {
  const newMessage = { parts: [{ text: 'hi' }] };
  const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage, streaming: true });
  const headers = { 'eventloom-event-ids': '1' };
  const response = await server.fetch(new Request('http://localhost/run_sse', { method: 'POST', headers, body }));
  const frames = framesOf(await response.text());
  const path = `/apps/app/users/ann/sessions/s/runs/${response.headers.get('Eventloom-Invocation-Id')}`;
  return { frames, path };
}

describe.each(Object.keys(storages))('a follower after a restart, in %s,', (storageName) => {
  test.each(Object.keys(agents))(
    'gets the whole events that the first reader got after any frame, with the same numbers: %s',
    async (name) => {
      const storage = (await storages[storageName]?.()) ?? expect.unreachable();
      try {
        const serverOf = async (): Promise<EventloomServer> => {
          const agent = agents[name]?.() ?? expect.unreachable();
          const sessionService = await storage.open();
          const config = { appName: 'app', agent, sessionService, autoCreateSession: true, resumable: true };
          return createServer({ runners: [new Runner(config)] });
        };
        const before = await serverOf();
        const { frames, path } = await readFirst(before);
        await before.drain(0);
        const after = await serverOf();
        const authors = new Set(frames.filter(isWhole).map(({ event }) => event.branch?.includes('@')));
        expect(authors).toContain(true);
        for (const from of [undefined, ...frames.map(({ id }) => id)]) {
          const headers: HeadersInit = from === undefined ? {} : { 'last-event-id': from };
          const response = await after.fetch(new Request(`http://localhost${path}`, { headers }));
          const rest = frames.slice(frames.findIndex(({ id }) => id === from) + 1).filter(isWhole);
          expect([from, framesOf(await response.text())]).toEqual([from, rest]);
        }
        await after.drain(0);
      } finally {
        await storage.end();
      }
    },
  );
});
