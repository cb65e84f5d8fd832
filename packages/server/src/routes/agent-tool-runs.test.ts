import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { KEY, type ServerScenario, serverScenario, SESSION } from '../fixtures/server-scenario.ts';

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

function serve(sessionService: InMemorySessionService): Promise<ServerScenario> {
  const gate = new Gate();
  const subAgents = [callerOf(new Writer('early', { gate })), callerOf(new Writer('late', { after: gate }))];
  const agent = new ParallelAgent({ name: 'par', subAgents });
  return serverScenario({ agent, sessionService });
}

test('after a restart a follower gets exactly the same frames of parallel AgentTools', async () => {
  const sessionService = new InMemorySessionService();
  const { send, server } = await serve(sessionService);
  const newMessage = { parts: [{ text: 'hi' }] };
  const response = await send('POST', '/run_sse', { ...KEY, newMessage }, { 'eventloom-event-ids': '1' });
  const live = await response.text();
  await server.drain(0);
  const restarted = await serve(sessionService);
  const after = await restarted.send('GET', `${SESSION}/runs/${response.headers.get('Eventloom-Invocation-Id')}`);
  expect(framesOf(await after.text())).toEqual(framesOf(live));
  expect(live).toContain('"stateDelta":{"early":1}');
  expect(live).toContain('"stateDelta":{"shared":"late","late":1}');
});

function framesOf(text: string): string[] {
  return text.split('\n\n').filter((frame) => frame.includes('data: '));
}
