import { InMemoryArtifactService } from '@eventloom/artifacts';
import { createEvent } from '@eventloom/core';
import { AgentTool, ParallelAgent } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { KEY, responsesOf, scenario, scripted } from './fixtures/scenario.ts';

describe('state changes of an AgentTool', () => {
  test('are visible to its caller and are in the event of its response', async () => {
    const helper = scripted('helper', ['the answer'], { outputKey: 'found' });
    const lead = caller(helper);
    const { run, state } = await scenario({ agent: lead });
    const events = await run();
    expect(events[1]?.actions.stateDelta).toEqual({ found: 'the answer' });
    expect(await state()).toMatchObject({ found: 'the answer' });
  });

  test('include removed keys and saved artifacts, but no control signals', async () => {
    const tool = new FunctionTool({
      name: 'work',
      description: '',
      execute: async (_, context) => {
        context.state.set('kept', 1);
        context.state.set('gone', 1);
        context.state.remove('gone');
        context.state.set('temp:note', 'hello');
        await context.saveArtifact('page.txt', { text: 'page' });
        context.actions.skipSummarization = true;
        context.actions.escalate = true;
      },
    });
    const helper = scripted('helper', [{ calls: [{ name: 'work' }] }], { tools: [tool] });
    const lead = caller(helper);
    const { run, state } = await scenario({ agent: lead, artifactService: new InMemoryArtifactService() });
    const events = await run();
    expect(events[1]?.actions).toEqual({
      stateDelta: { kept: 1 },
      removedState: ['gone'],
      artifactDelta: { 'page.txt': 0 },
    });
    expect(await state()).toEqual({ kept: 1 });
  });

  test('are not written again with the response over later changes', async () => {
    const gate = new Gate();
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ actions: { stateDelta: { k: 'child', gone: 1, own: 1 } } });
      yield context.createEvent({ actions: { removedState: ['gone'] } });
      await gate.pass(context.abortSignal);
    });
    const other = new CustomAgent('other', async function* (context) {
      await gate.reached;
      yield context.createEvent({ actions: { stateDelta: { k: 'newer', gone: 'back' } } });
      gate.open();
    });
    const { run, stored, state } = await scenario({
      agent: new ParallelAgent({ name: 'par', subAgents: [caller(helper), other] }),
    });
    const events = await run();
    const response = events.find((event) => responsesOf([event]).length > 0);
    expect(await state()).toEqual({ k: 'newer', gone: 'back', own: 1 });
    // Keys that the other agent changed later are in the event of that agent, which was stored first.
    expect(response?.actions.stateDelta).toEqual({ own: 1 });
    expect(await stored()).toContainEqual(response);
  });

  test("to user state are not written again over another session's changes", async () => {
    const helper = new CustomAgent('helper', async function* (context) {
      yield context.createEvent({ actions: { stateDelta: { 'user:balance': 10 } } });
      await elsewhere();
    });
    const { run, sessionService } = await scenario({ agent: caller(helper) });
    const elsewhere = async (): Promise<void> => {
      const session = await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 'other' });
      await sessionService.appendEvent({
        session,
        event: createEvent({ author: 'x', actions: { stateDelta: { 'user:balance': 20 } } }),
      });
    };
    const events = await run();
    expect((await sessionService.getSession(KEY))?.state).toEqual({ 'user:balance': 20 });
    expect(events[1]?.actions.stateDelta).toEqual({ 'user:balance': 10 });
  });

  test('include those of agents inside it', async () => {
    const deep = scripted('deep', ['found it'], { outputKey: 'found' });
    const call = { calls: [{ name: 'deep', args: { request: 'x' } }] };
    const { run } = await scenario({
      agent: caller(scripted('middle', [call, 'm'], { tools: [new AgentTool({ agent: deep })] })),
    });
    expect((await run())[1]?.actions.stateDelta).toEqual({ found: 'found it' });
  });

  test('are committed and visible in its next step', async () => {
    const tool = new FunctionTool({
      name: 'work',
      description: '',
      execute: (_, { state }) => state.set('mood', 'calm'),
    });
    const helper = scripted('helper', [{ calls: [{ name: 'work' }] }, 'ok'], {
      tools: [tool],
      instruction: 'Be {mood?}.',
    });
    const { run } = await scenario({ agent: caller(helper) });
    await run();
    const [before, after] = modelOf(helper).requests.map(({ request }) => request.config.systemInstruction);
    expect(before).toMatch(/^Be \./);
    expect(after).toMatch(/^Be calm\./);
  });
});
