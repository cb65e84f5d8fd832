/**
 * Serves Studio on `wrangler dev`, with the configuration of the edge app, for an agent whose model stops during its
 * answer while `HANGS` is set. The server does not resume runs of a lost Worker: the person decides.
 */
import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { type AssetBinding, assetFiles, studio } from '@eventloom/studio';

interface Env extends CloudflareBindings {
  readonly ASSETS: AssetBinding;
  readonly HANGS?: string;
}

class SkyModel extends BaseLlm {
  readonly #hangs: boolean;

  constructor(hangs: boolean) {
    super({ model: 'sky' });
    this.#hangs = hangs;
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    if (this.#hangs) {
      yield { content: { role: 'model', parts: [{ text: 'The sky ' }] }, partial: true };
      // The runtime ends a request that waits for nothing. The Worker is killed long before.
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
    yield { content: { role: 'model', parts: [{ text: 'The sky is blue.' }] } };
  }
}

const server = createCloudflareServer<Env>({
  appNames: ['app'],
  onUnfinishedRuns: 'leave',
  protocols: ({ ASSETS }) => [studio({ files: assetFiles(ASSETS) })],
  runners: ({ HANGS }, services) => {
    const agent = new LlmAgent({ name: 'helper', model: new SkyModel(HANGS !== undefined) });
    // The lease of a lost object expires soon.
    return [new Runner({ appName: 'app', agent, resumable: true, leaseTtlMs: 2000, ...services })];
  },
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
