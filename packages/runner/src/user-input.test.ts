import { type Content, InvalidMessageError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import {
  agentOf,
  answer,
  answerPart,
  type Execute,
  ORDER,
  questions,
  responses,
  setUp,
  textsOf,
} from './fixtures/asking-run.ts';
import { scripted } from './fixtures/scenario.ts';

describe.each([false, true])('a tool that calls requestInput (resumable run: %s)', (resumable) => {
  test('pauses the run and has the answer when it runs again', async () => {
    const { run } = await setUp({ resumable });
    const asked = await run(agentOf('bot', [ORDER]));
    const [question] = questions(asked);
    expect(question?.args).toEqual({ interruptId: question?.id, functionCallId: 'o1', message: 'Which size?' });
    expect(asked.find((event) => questions([event]).length > 0)?.longRunningToolIds).toEqual([question?.id]);
    expect(responses(asked)).toEqual([{ error: 'This tool call requires input of a person.' }]);
    const rest = await run(agentOf('bot', ['It comes.']), answer(asked, 'large'));
    expect(responses(rest)).toEqual([{ ordered: 'large' }]);
    expect(textsOf(rest)).toEqual(['It comes.']);
    await expect(run(agentOf('bot', []), answer(asked, 'small'))).rejects.toThrow('has already been answered');
  });

  test('may request several inputs at once and runs after the last answer, in any order', async () => {
    const { run } = await setUp({ resumable });
    const execute: Execute = (_, context) => {
      const [size, colour] = [context.getInput('size'), context.getInput('colour')];
      if (size !== undefined && colour !== undefined) return { size, colour };
      context.requestInput({ key: 'size' });
      return context.requestInput({ key: 'colour', payload: { from: ['red', 'blue'] } });
    };
    const asked = await run(agentOf('bot', [ORDER], execute));
    const [size, colour] = questions(asked);
    expect([size?.args?.['key'], colour?.args]).toMatchObject(['size', { payload: { from: ['red', 'blue'] } }]);
    const between = await run(agentOf('bot', [], execute), {
      newMessage: { parts: [answerPart(colour?.id, { result: 'red' })] },
    });
    expect(responses(between)).toEqual([]);
    const rest = await run(agentOf('bot', ['ok'], execute), {
      newMessage: { parts: [answerPart(size?.id, { result: 5 })] },
    });
    expect(responses(rest)).toEqual([{ size: 5, colour: 'red' }]);
  });

  test('may request inputs one after the other and keeps the answers', async () => {
    const { run } = await setUp({ resumable });
    const execute: Execute = (_, context) => {
      for (const key of ['size', 'colour'])
        if (context.getInput(key) === undefined) return context.requestInput({ key });
      return { size: context.getInput('size'), colour: context.getInput('colour') };
    };
    const first = await run(agentOf('bot', [ORDER], execute));
    const second = await run(agentOf('bot', [], execute), answer(first, 5));
    expect(questions(second).map(({ args }) => args?.['key'])).toEqual(['colour']);
    const third = await run(agentOf('bot', ['ok'], execute), answer(second, 'red'));
    expect(responses(third)).toEqual([{ size: 5, colour: 'red' }]);
    expect(textsOf(third)).toEqual(['ok']);
  });

  test.each([
    [{ key: 'size' }, 'an object'],
    [null, 'null'],
  ])('fails if it calls getInput with %o in place of the key', async (key, got) => {
    const { run } = await setUp({ resumable });
    const events = await run(
      agentOf('bot', [ORDER, 'sorry'], (_, context) => context.getInput(key as never) ?? context.requestInput()),
    );
    expect(questions(events)).toEqual([]);
    expect(responses(events)).toEqual([
      {
        error: `getInput: expected a key, got ${got}; write getInput('size')`,
      },
    ]);
  });

  test('does not run if the answer expired', async () => {
    const { run, platform } = await setUp({ resumable, requestTtlMs: 1000 });
    const asked = await run(agentOf('bot', [ORDER]));
    platform.advance(1001);
    const rest = await run(agentOf('bot', ['ok']), answer(asked, 'large'));
    expect(responses(rest)).toEqual([{ error: 'This tool call was not run: it was answered too late.' }]);
  });

  test('may be called several times in a reply, and one message answers all', async () => {
    const { run } = await setUp({ resumable });
    const two = {
      calls: [
        { id: 'o1', name: 'order' },
        { id: 'o2', name: 'order' },
      ],
    } satisfies ScriptedStep;
    const asked = await run(agentOf('bot', [two]));
    const rest = await run(agentOf('bot', ['ok']), answer(asked, 'small', 'large'));
    expect(responses(rest)).toEqual([{ ordered: 'small' }, { ordered: 'large' }]);
  });
});

describe('an answer', () => {
  const responseSchema = z.object({ approved: z.boolean(), days: z.int().optional() });
  const execute: Execute = (_, context) => context.getInput() ?? context.requestInput({ responseSchema });

  test('is validated against the schema, which the request has as JSON Schema', async () => {
    const { run } = await setUp();
    const asked = await run(agentOf('bot', [ORDER], execute));
    expect(questions(asked)[0]?.args?.['response_schema']).toMatchObject({
      type: 'object',
      properties: { approved: { type: 'boolean' } },
      required: ['approved'],
    });
    const rest = await run(agentOf('bot', ['ok'], execute), answer(asked, { approved: true, days: 2 }));
    expect(responses(rest)).toEqual([{ approved: true, days: 2 }]);
  });

  test.each([
    ['an object that is the answer itself', { approved: true }],
    ['JSON that somebody typed', { result: '{"approved": true}' }],
  ])('may be %s', async (_, response) => {
    const { run } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const newMessage = { parts: [answerPart(question?.id, response)] };
    expect(responses(await run(agentOf('bot', ['ok'], execute), { newMessage }))).toEqual([{ approved: true }]);
  });

  test.each([
    ['of another shape', { result: { approved: 'yes' } }],
    ['without what is required', { result: {} }],
    ['that is a text', { result: 'yes' }],
    ['that is null', { result: null }],
    ['that is empty', {}],
  ])('%s is refused, and nothing is written', async (_, response) => {
    const { run, stored } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const before = await stored();
    const newMessage = { parts: [answerPart(question?.id, response)] };
    await expect(run(agentOf('bot', [], execute), { newMessage })).rejects.toThrow(InvalidMessageError);
    await expect(run(agentOf('bot', [], execute), { newMessage })).rejects.toThrow(
      'does not match the requested schema',
    );
    expect(await stored()).toEqual(before);
  });

  test("may be an object with the runtime's own field names", async () => {
    const asking: Execute = (_, context) =>
      context.getInput() ?? context.requestInput({ responseSchema: z.object({ result: z.number() }) });
    for (const response of [{ result: 3 }, { result: { result: 3 } }]) {
      const { run } = await setUp();
      const [question] = questions(await run(agentOf('bot', [ORDER], asking)));
      const newMessage = { parts: [answerPart(question?.id, response)] };
      expect(responses(await run(agentOf('bot', ['ok'], asking), { newMessage }))).toEqual([{ result: 3 }]);
    }
  });

  test('that is given twice in one message is refused', async () => {
    const { run } = await setUp();
    const [question] = questions(await run(agentOf('bot', [ORDER], execute)));
    const part = answerPart(question?.id, { result: { approved: true } });
    await expect(run(agentOf('bot', [], execute), { newMessage: { parts: [part, part] } })).rejects.toThrow(
      'is answered twice in the message',
    );
  });
});

test('a model gets neither input requests nor their answers', async () => {
  const { run } = await setUp();
  const asked = await run(agentOf('bot', [ORDER]));
  const matches = ({ contents }: { readonly contents: unknown }) =>
    expect(JSON.stringify(contents)).not.toContain('adk_request_input');
  await run(agentOf('bot', [{ text: 'ok', expect: { matches } }]), answer(asked, 'large'));
});

describe.each([false, true])(
  'a model that asks by itself, with a tool adk_request_input (resumable run: %s)',
  (resumable) => {
    const tools = [
      new LongRunningFunctionTool({
        name: 'adk_request_input',
        description: 'Asks the user.',
        parameters: z.object({ message: z.string() }),
        execute: (_args, context) => {
          context.actions.skipSummarization = true;
        },
      }),
    ];
    const asks = {
      calls: [{ id: 'q', name: 'adk_request_input', args: { message: 'Which?' } }],
    } satisfies ScriptedStep;
    const agent = (...steps: ScriptedStep[]) => scripted('bot', steps, { tools });

    test('reads its question and the answer, now and in later turns', async () => {
      const { run } = await setUp({ resumable });
      const asked = await run(agent(asks));
      const matches = ({ contents }: { readonly contents: readonly Content[] }): void => {
        const parts = contents.flatMap((content) => content.parts ?? []);
        expect(parts.slice(1, 3)).toEqual([{ functionCall: asks.calls[0] }, answerPart('q', { result: 'blue' })]);
      };
      await run(agent({ text: 'ok', expect: { matches } }), answer(asked, 'blue'));
      await run(agent({ text: 'ok', expect: { matches } }));
    });
  },
);

test('a tool inside AgentTool can request input in a resumable run, and gets an error otherwise', async () => {
  const tree = (lead: ScriptedStep[], helper: ScriptedStep[]) =>
    new LlmAgent({
      name: 'lead',
      model: new ScriptedModel(lead),
      tools: [new AgentTool({ agent: agentOf('helper', helper) })],
    });
  const ask = { calls: [{ id: 'c1', name: 'helper', args: { request: 'x' } }] };
  const paused = await setUp({ resumable: true });
  const asked = await paused.run(tree([ask], [ORDER]));
  const rest = await paused.run(tree(['done'], ['It comes.']), answer(asked, 'large'));
  expect(responses(rest)).toEqual([{ result: 'It comes.' }]);
  expect(responses(await paused.stored())).toContainEqual({ ordered: 'large' });
  const other = await setUp();
  const events = await other.run(tree([ask, 'done'], [ORDER, 'I cannot ask.']));
  expect(questions(events)).toEqual([]);
  expect(responses(events)).toEqual([{ result: 'I cannot ask.' }]);
});
