import type { Content, Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { optionsFor, requestOf } from './fixtures/mock-model.ts';
import { type PromptReader, toPrompt } from './prompt.ts';

const READER: PromptReader = { provider: 'anthropic.messages', media: ['image/*', 'application/pdf'] };
const PNG: Part = { inlineData: { mimeType: 'image/png', data: 'aGk' } };

const user = (...parts: Part[]): Content => ({ role: 'user', parts });
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const own = (part: Part, providerMetadata?: Record<string, unknown>): Part => ({
  ...part,
  partMetadata: { madeBy: { provider: READER.provider, ...(providerMetadata && { providerMetadata }) } },
});
const foreign = (part: Part): Part => ({
  ...part,
  partMetadata: { madeBy: { provider: 'openai.responses', providerMetadata: { openai: { itemId: 'i' } } } },
});
const call = (name: string, id?: string): Part => ({ functionCall: { ...(id && { id }), name, args: { of: name } } });
const response = (name: string, id?: string): Part => ({
  functionResponse: { ...(id && { id }), name, response: { result: name } },
});

const promptOf = (...contents: Content[]) => toPrompt(undefined, contents, READER).prompt;

test.each([
  ['be brief', 'be brief'],
  [{ parts: [{ text: 'be' }, { text: 'brief' }] }, 'be\nbrief'],
  [['be', { text: 'brief' }], 'be\nbrief'],
])('the system instruction %j is the first message', (instruction, content) => {
  expect(toPrompt(instruction, [user({ text: 'Hi' })], READER).prompt[0]).toEqual({ role: 'system', content });
});

test('messages keep their order and roles', () => {
  expect(promptOf(user({ text: 'a' }), model({ text: 'b' }), user({ text: 'c' }))).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
    { role: 'user', content: [{ type: 'text', text: 'c' }] },
  ]);
});

test.each([[[]], [[user({ text: 'a' }), model({ text: 'b' })]]])(
  'a prompt that does not end with the user asks the model to continue',
  (contents) => {
    expect(promptOf(...contents).at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'Go on as you were instructed.' }],
    });
  },
);

test('empty texts, which services refuse, are left out', () => {
  expect(promptOf(user({ text: 'a' }, { text: ' \n' }), model({ text: '' }), user({ text: 'b' }))).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    { role: 'user', content: [{ type: 'text', text: 'b' }] },
  ]);
});

test('calls keep the id of the model that reads them, and others get one by their position', () => {
  const prompt = promptOf(
    user({ text: 'a' }),
    model(call('f'), own(call('g', 'toolu_1')), foreign(call('h', 'call_x'))),
    user(response('f'), response('g', 'toolu_1'), response('h', 'call_x')),
    model(call('f')),
    user(response('f')),
  );
  const ids = prompt.map(({ content }) =>
    Array.isArray(content) ? content.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : [])) : [],
  );
  const first = ['call00001', 'toolu_1', 'call00003'];
  expect(ids).toEqual([[], first, first, ['call00004'], ['call00004']]);
});

test('an id that came before is given only once', () => {
  const prompt = promptOf(
    model(own(call('f', 'call00002'))),
    user(response('f', 'call00002')),
    model(call('f')),
    user(response('f')),
  );
  expect(JSON.stringify(prompt).match(/call0000\d/g)).toEqual(['call00002', 'call00002', 'call00003', 'call00003']);
});

test('responses without ids answer the calls of their name in order', () => {
  const prompt = promptOf(model(call('f'), call('g'), call('f')), user(response('f'), response('f'), response('g')));
  expect(prompt[1]?.content).toMatchObject([
    { toolCallId: 'call00001', toolName: 'f' },
    { toolCallId: 'call00003', toolName: 'f' },
    { toolCallId: 'call00002', toolName: 'g' },
  ]);
});

test('a response without its call becomes text', () => {
  expect(promptOf(user(response('f', 'gone')))).toEqual([
    {
      role: 'user',
      content: [{ type: 'text', text: 'For context: tool `f` returned result: {"result":"f"}' }],
    },
  ]);
});

test('results come before the other parts of the message', () => {
  const prompt = promptOf(model(call('f')), user({ text: 'and?' }, response('f'), PNG));
  expect(prompt.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
});

test.each([
  [{ result: 'sunny' }, { type: 'text', value: 'sunny' }],
  [{ output: 'sunny' }, { type: 'text', value: 'sunny' }],
  [{ error: 'no such city' }, { type: 'error-text', value: 'no such city' }],
  [{ result: [1] }, { type: 'json', value: { result: [1] } }],
  [
    { error: 'no', at: 1 },
    { type: 'json', value: { error: 'no', at: 1 } },
  ],
  [undefined, { type: 'json', value: {} }],
])('the response %j becomes %j', (value, output) => {
  const result = { functionResponse: { name: 'f', ...(value && { response: value }) } };
  const message = promptOf(model(call('f')), user(result))[1];
  expect(message?.content).toMatchObject([{ type: 'tool-result', output }]);
});

test('media in a response is part of the result', () => {
  const result = { functionResponse: { name: 'f', response: { page: 3 }, parts: [PNG] } };
  expect(promptOf(model(call('f')), user(result))[1]?.content).toMatchObject([
    {
      output: {
        type: 'content',
        value: [
          { type: 'text', text: '{"page":3}' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
        ],
      },
    },
  ]);
});

test('thoughts and the metadata of parts go only to the provider that made them', () => {
  const signature = { anthropic: { signature: 's' } };
  const prompt = promptOf(
    model(
      own({ text: 'I think', thought: true }, signature),
      foreign({ text: 'they think', thought: true }),
      { text: 'Gemini thinks', thought: true, thoughtSignature: 'g' },
      own({ text: 'mine' }, { anthropic: { x: 1 } }),
      foreign({ text: 'theirs' }),
      { text: 'of Gemini', thoughtSignature: 'g' },
    ),
    user({ text: 'ok' }),
  );
  expect(prompt[0]?.content).toEqual([
    { type: 'reasoning', text: 'I think', providerOptions: signature },
    { type: 'text', text: 'mine', providerOptions: { anthropic: { x: 1 } } },
    { type: 'text', text: 'theirs' },
    { type: 'text', text: 'of Gemini' },
  ]);
});

test("metadata in a person's message is not passed on", () => {
  const forged = own({ text: 'Hi' }, { anthropic: { cacheControl: { type: 'ephemeral' } } });
  const [message] = promptOf(user(forged, own({ text: 'thought', thought: true }, {})));
  expect(message?.content).toEqual([{ type: 'text', text: 'Hi' }]);
});

test("calls that a vendor's service ran go only to that vendor", () => {
  const searched = [
    { toolCall: { id: 'ws', toolType: 'web_search', args: { q: 'x' } } },
    { toolResponse: { id: 'ws', toolType: 'web_search', response: { result: 'found' } } },
  ];
  expect(promptOf(model(...searched.map((part) => own(part))), user({ text: 'ok' }))[0]?.content).toEqual([
    { type: 'tool-call', toolCallId: 'ws', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
    { type: 'tool-result', toolCallId: 'ws', toolName: 'web_search', output: { type: 'text', value: 'found' } },
  ]);
  const parts = [...searched.map(foreign), ...searched, { text: 'Found.' }];
  expect(promptOf(model(...parts), user({ text: 'ok' }))[0]?.content).toEqual([{ type: 'text', text: 'Found.' }]);
});

test('files of messages are sent unchanged, with standard base64 and their names', () => {
  const pdf = { inlineData: { mimeType: 'application/pdf', data: '-_-_', displayName: 'a.pdf' } };
  const byUrl = { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } };
  const dataUrl = { fileData: { mimeType: 'image/png', fileUri: 'data:image/png;base64,aGk=' } };
  expect(promptOf(user(PNG, pdf, byUrl, dataUrl))[0]?.content).toEqual([
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: '+/+/' }, filename: 'a.pdf' },
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
  ]);
});

test('files that the model does not read become texts, with a warning', () => {
  const wav = { inlineData: { mimeType: 'audio/wav', data: 'aGk=', displayName: 'call' } };
  const atGoogle = { fileData: { mimeType: 'image/png', fileUri: 'gs://bucket/a.png' } };
  const { prompt, warnings } = toPrompt(undefined, [user(wav, atGoogle)], READER);
  expect(prompt[0]?.content).toEqual([
    { type: 'text', text: '(a file "call" of the type audio/wav, which you cannot read)' },
    { type: 'text', text: '(a file of the type image/png, which you cannot read)' },
  ]);
  expect(warnings).toMatchObject([
    { feature: 'file of the type audio/wav' },
    { feature: 'file of the type image/png' },
  ]);
});

test('text files are read by every model', () => {
  const csv = { inlineData: { mimeType: 'text/csv', data: btoa('a;b'), displayName: 'a.csv' } };
  const broken = { inlineData: { mimeType: 'text/csv', data: '*' } };
  expect(promptOf(user(csv, broken))[0]?.content).toEqual([
    { type: 'text', text: 'a.csv:\na;b' },
    { type: 'text', text: '(a file of the type text/csv, which you cannot read)' },
  ]);
});

test("files in a model's reply go to their own provider as files, and to others as a note", () => {
  const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const prompt = promptOf(model(own(image), foreign(image), own({ ...image, thought: true })), user({ text: 'ok' }));
  const file = { mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } };
  expect(prompt[0]?.content).toEqual([
    { type: 'file', ...file },
    { type: 'text', text: '(a file of the type image/png)' },
    { type: 'reasoning-file', ...file },
  ]);
});

test("code that Google's service ran becomes text", () => {
  const parts = [{ executableCode: { code: '1+1' } }, { codeExecutionResult: { output: '2' } }];
  expect(promptOf(model(...parts), user({ text: 'ok' }))[0]?.content).toEqual([
    { type: 'text', text: '```\n1+1\n```' },
    { type: 'text', text: 'Result of the code:\n2' },
  ]);
});

test('parts that only the provider understands are sent back to the provider', () => {
  const part: Part = {
    text: '',
    thought: true,
    partMetadata: {
      madeBy: { provider: READER.provider, kind: 'anthropic.compaction', providerMetadata: { anthropic: { id: 1 } } },
    },
  };
  expect(promptOf(model(part, { text: 'a' }), user({ text: 'ok' }))[0]?.content).toEqual([
    { type: 'custom', kind: 'anthropic.compaction', providerOptions: { anthropic: { id: 1 } } },
    { type: 'text', text: 'a' },
  ]);
});

test('a model gets the prompt of its request', async () => {
  const { prompt } = await optionsFor(requestOf('Hi', { systemInstruction: 'be brief' }));
  expect(prompt).toEqual([
    { role: 'system', content: 'be brief' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
  ]);
});
