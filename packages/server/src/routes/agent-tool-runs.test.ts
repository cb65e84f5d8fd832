import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { createServer, type EventloomServer } from '../create-server.ts';

/** An agent that writes a key, and answers once the gate opens. */
class Writer extends BaseAgent {
  readonly #gate: Gate | undefined;
  readonly #after: Gate | undefined;

  constructor(name: string, gates: { readonly gate?: Gate; readonly after?: Gate }) {
    super({ name });
    this.#gate = gates.gate;
    this.#after = gates.after;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    await this.#after?.reached;
    yield context.createEvent({ actions: { stateDelta: { shared: this.name, [this.name]: 1 } } });
    this.#after?.open();
    if (this.#gate) await this.#gate.pass(context.abortSignal);
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'written' }] } });
  }
}

/** An agent that calls the writer as a tool. */
function callerOf(writer: BaseAgent): BaseAgent {
  const steps = [{ calls: [{ id: 'c1', name: writer.name, args: { request: 'write' } }] }, 'done'];
  const tools = [new AgentTool({ agent: writer })];
  return new LlmAgent({ name: `calls_${writer.name}`, model: new ScriptedModel(steps), tools });
}

function serverOf(sessionService: InMemorySessionService): EventloomServer {
  const gate = new Gate();
  const subAgents = [callerOf(new Writer('early', { gate })), callerOf(new Writer('late', { after: gate }))];
  const agent = new ParallelAgent({ name: 'par', subAgents });
  return createServer({ runners: [new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true })] });
}

test('after a restart a follower gets exactly the same frames of parallel AgentTools', async () => {
  const sessionService = new InMemorySessionService();
  const body = JSON.stringify({
    appName: 'app',
    userId: 'ann',
    sessionId: 's',
    newMessage: { parts: [{ text: 'hi' }] },
  });
  const headers = { 'eventloom-event-ids': '1' };
  const before = serverOf(sessionService);
  const response = await before.fetch(new Request('http://localhost/run_sse', { method: 'POST', headers, body }));
  const live = await response.text();
  await before.drain(0);
  const path = `/apps/app/users/ann/sessions/s/runs/${response.headers.get('Eventloom-Invocation-Id')}`;
  const after = await serverOf(sessionService).fetch(new Request(`http://localhost${path}`));
  expect(framesOf(await after.text())).toEqual(framesOf(live));
  expect(live).toContain('"stateDelta":{"early":1}');
  expect(live).toContain('"stateDelta":{"shared":"late","late":1}');
});

function framesOf(text: string): string[] {
  return text.split('\n\n').filter((frame) => frame.includes('data: '));
}
