import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AiSdkLlm } from '@eventloom/ai-sdk';
import { createLlmRequest } from '@eventloom/core';
import { compare } from '../measure.ts';
import { ratioRow, type Row } from '../report.ts';

const CALLS = 50;

/** Returns a model whose service streams a text in this many chunks, without a network. */
function modelOf(chunks: number) {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const texts = Array.from({ length: chunks }, (_, index) => chunk({ content: `word ${index} ` }));
  const body = new TextEncoder().encode([...texts, chunk({}, 'stop'), 'data: [DONE]\n\n'].join(''));
  const fetch = () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  return createOpenAICompatible({ name: 'local', baseURL: 'http://service.test/v1', fetch })('model');
}

/** W12: a call of an `AiSdkLlm` compared with the same call of the provider alone. */
export async function vendorCalls(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const chunks of [1, 200]) {
    const model = modelOf(chunks);
    const llm = new AiSdkLlm(model);
    const content = { role: 'user', parts: [{ text: 'Hi' }] };
    const times = await compare([
      {
        name: 'provider',
        async round() {
          for (let call = 0; call < CALLS; call++) {
            const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
            const { stream } = await model.doStream({ prompt });
            const reader = stream.getReader();
            while (!(await reader.read()).done);
          }
          return CALLS;
        },
      },
      {
        name: 'ours',
        async round() {
          for (let call = 0; call < CALLS; call++) {
            const request = { ...createLlmRequest(), contents: [content] };
            for await (const _ of llm.generateContentAsync(request, true));
          }
          return CALLS;
        },
      },
    ]);
    const [ours, provider] = [times.get('ours'), times.get('provider')];
    if (!ours || !provider) throw new TypeError('nothing was measured');
    const figure = `call streamed in ${chunks} chunk${chunks === 1 ? '' : 's'}, over the provider of the AI SDK`;
    rows.push(ratioRow('W12', figure, 'µs', ours.medianUs, provider.medianUs, 1.5));
  }
  return rows;
}
