/** What a user of the Worker server writes, with a model of their own that needs no key. */
import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { type CloudflareBindings, createCloudflareServer } from '@eventloom/server/cloudflare';

class Echo extends BaseLlm {
  constructor() {
    super({ model: 'echo' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    if (contents.at(-1)?.parts?.[0]?.text === 'wait') await new Promise(() => undefined);
    yield { content: { role: 'model', parts: [{ text: 'hello' }] } };
  }
}

const server = createCloudflareServer<CloudflareBindings>({
  runners: (_env, services) => [
    new Runner({ appName: 'app', agent: new LlmAgent({ name: 'echo', model: new Echo() }), ...services }),
  ],
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
