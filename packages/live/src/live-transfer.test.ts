import type { BaseAgent, Event, RunConfig } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { call, END } from './fixtures/live-messages.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

async function setup(agent: BaseAgent, runConfig?: RunConfig) {
  const run = await liveScenario({ agent, ...(runConfig && { runConfig }) });
  const again = () => {
    const next = new LiveRequestQueue();
    return { queue: next, stream: run.startLive(next, { runConfig: undefined }) };
  };
  return { ...run, again };
}

function speaker(name: string, scripts: readonly ScriptedLiveScript[], subAgents: readonly BaseAgent[] = []) {
  const model = new ScriptedLiveModel(scripts);
  return { model, agent: new LlmAgent({ name, model, subAgents }) };
}

function transferTo(agentName: string, id: string) {
  const functionCall = { id, name: 'transfer_to_agent', args: { agent_name: agentName } };
  return { content: { role: 'model', parts: [{ functionCall }] } };
}

function blob(data: string) {
  return { data, mimeType: 'audio/pcm' };
}

const DONE = { content: { role: 'model', parts: [{ functionCall: { id: 't', name: 'task_completed', args: {} } }] } };

function summarize({ author, content, turnComplete }: Event): string {
  const [part] = content?.parts ?? [];
  const said = part?.functionCall?.name ?? part?.functionResponse?.response?.['result'] ?? part?.text;
  return `${author}: ${turnComplete ? 'end' : typeof said === 'string' ? said : ''}`;
}

test('transfers there and back keep the queue, the history and all audio', async () => {
  const child = speaker('child', [[{ heard: 'blob' }, 'Child', END, transferTo('root', 't2')]]);
  const root = speaker(
    'root',
    [
      [{ heard: 'blob' }, transferTo('child', 't1')],
      [{ heard: 'blob' }, 'Root', END],
    ],
    [child.agent],
  );
  const { queue, stream, stored } = await setup(root.agent);
  queue.sendRealtime(blob('AA=='));
  const events: Event[] = [];
  let turns = 0;
  for await (const event of stream) {
    events.push(event);
    const call = event.content?.parts?.[0]?.functionCall;
    // This audio is sent during the hand-over.
    if (call?.id === 't1') queue.sendRealtime(blob('BB=='));
    if (call?.id === 't2') queue.sendRealtime(blob('CC=='));
    if (event.turnComplete && ++turns === 2) queue.close();
  }
  const sent = (model: ScriptedLiveModel, index: number) =>
    model.connections[index]?.sent.flatMap((one) => ('blob' in one ? [one.blob.data] : []));
  expect(sent(root.model, 0)).toEqual(['AA==']);
  expect(sent(child.model, 0)).toEqual(['BB==']);
  expect(sent(root.model, 1)).toEqual(['CC==']);
  expect(root.model.connections[0]?.isClosed).toBe(true);
  expect(JSON.stringify(child.model.connections[0]?.sent[0])).toContain('history');
  expect(child.model.connections[0]?.request.config['outputAudioTranscription']).toEqual({});
  expect((await stored()).map(({ author }) => author)).toEqual([
    'root',
    'root',
    'child',
    'child',
    'child',
    'child',
    'root',
    'root',
  ]);
  child.model.assertConsumed();
  root.model.assertConsumed();
});

test('a transfer to an unknown agent is answered with an error, and the agent continues', async () => {
  const child = speaker('child', []);
  const root = speaker(
    'root',
    [[transferTo('nobody', 't1'), { heard: 'toolResponses' }, { heard: 'blob' }, 'Yes', END]],
    [child.agent],
  );
  const { queue, stream } = await setup(root.agent);
  for await (const event of stream) {
    if (event.content?.parts?.[0]?.functionResponse) queue.sendRealtime(blob('AA=='));
    if (event.turnComplete) queue.close();
  }
  root.model.assertConsumed();
});

test('task_completed passes control along a sequence twice, and the last one ends the run', async () => {
  const script: ScriptedLiveScript = [{ heard: 'blob' }, 'First', END, DONE];
  const last: ScriptedLiveScript = { steps: ['Second', END, DONE], expect: { tools: ['task_completed'] } };
  const first = speaker('first', [script, script]);
  const model = new ScriptedLiveModel([last, last]);
  const second = new LlmAgent({ name: 'second', model, instruction: () => 'Go on.' });
  const { queue, stream, stored, again } = await setup(
    new SequentialAgent({ name: 'line', subAgents: [first.agent, second] }),
  );
  queue.sendRealtime(blob('AA=='));
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  const expected = [
    'first: First',
    'first: end',
    'first: task_completed',
    'first: Task completion signaled.',
    'second: Second',
    'second: end',
    'second: task_completed',
    'second: Task completion signaled.',
  ];
  expect(events.filter(({ partial }) => !partial).map(summarize)).toEqual(expected);
  expect((await stored()).map(summarize)).toEqual(expected);
  expect(model.connections[0]?.request.config.systemInstruction).toContain('Go on.');
  expect(model.connections[0]?.request.config.systemInstruction).toContain('task_completed');

  const next = again();
  next.queue.sendRealtime(blob('BB=='));
  for await (const event of next.stream) events.push(event);
  expect((await stored()).map(summarize)).toEqual([...expected, ...expected]);
  expect(first.agent.tools).toEqual([]);
  first.model.assertConsumed();
  model.assertConsumed();
});

test('a sequence whose queue is closed runs no further agent', async () => {
  const first = speaker('first', [[{ heard: 'blob' }, 'First', END]]);
  const second = speaker('second', []);
  const { queue, stream } = await setup(new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] }));
  queue.sendRealtime(blob('AA=='));
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect(second.model.attempts).toBe(0);
});

test('a sequence sends the requests of a queue that was closed before it was read', async () => {
  const first = speaker('first', [[{ heard: 'blob' }, call('task_completed', 't1')]]);
  const second = speaker('second', [[]]);
  const { queue, stream } = await setup(new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] }));
  queue.sendRealtime(blob('AA=='));
  for await (const event of stream) {
    if (!event.content?.parts?.[0]?.functionCall) continue;
    queue.sendRealtime(blob('BB=='));
    queue.close();
  }
  expect(second.model.connections[0]?.sent.at(-1)).toEqual({ blob: blob('BB==') });
});

test('a sequence whose time limit has passed runs no further agent', async () => {
  const first = speaker('first', [['First', END, { goAway: { timeLeftMs: 0 } }, { ends: 1006 }]]);
  const second = speaker('second', []);
  const line = new SequentialAgent({ name: 'line', subAgents: [first.agent, second.agent] });
  const { stream } = await setup(line, { liveReconnect: false });
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  expect(events.at(-1)?.errorCode).toBe('SESSION_TIME_LIMIT');
  expect(second.model.attempts).toBe(0);
});

test('agents without a live implementation are refused before anything is stored', async () => {
  const inner = () => speaker('inner', []).agent;
  const write = 'write an LlmAgent, a SequentialAgent of LLM agents, or an agent class with runLiveImpl in its place';
  for (const [agent, message] of [
    [new LoopAgent({ name: 'loop', subAgents: [inner()] }), `agent "loop" does not support live runs; ${write}`],
    [new ParallelAgent({ name: 'par', subAgents: [inner()] }), `agent "par" does not support live runs; ${write}`],
    [
      new SequentialAgent({ name: 'line', subAgents: [new LoopAgent({ name: 'loop', subAgents: [inner()] })] }),
      `agent "line" does not support live runs; ${write}`,
    ],
  ] as const) {
    const { stream, stored } = await setup(agent);
    await expect(stream.next()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message),
    });
    expect(await stored()).toEqual([]);
  }
});

test('agents that can transfer to an agent without a live implementation, and agents with an output schema, are refused', async () => {
  const inner = () => speaker('inner', []).agent;
  const parallel = () => new ParallelAgent({ name: 'par', subAgents: [inner()] });
  const schema = new LlmAgent({ name: 'schema', model: new ScriptedLiveModel([]), outputSchema: { type: 'object' } });
  for (const [agent, name] of [
    [speaker('root', [], [parallel()]).agent, 'par'],
    [speaker('root', [], [speaker('child', [], [parallel()]).agent]).agent, 'par'],
    [new SequentialAgent({ name: 'line', subAgents: [speaker('child', [], [parallel()]).agent] }), 'par'],
    [speaker('root', [], [schema]).agent, 'schema'],
  ] as const) {
    const { stream, stored } = await setup(agent);
    await expect(stream.next()).rejects.toThrow(`agent "${name}"`);
    expect(await stored()).toEqual([]);
  }
});
