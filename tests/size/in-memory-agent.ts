import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { FunctionTool } from '@eventloom/tools';

/** Measured by `pnpm size`: an application with an agent, a tool and a custom model. */
class ScriptedModel extends BaseLlm {
  constructor() {
    super({ model: 'scripted' });
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: 'hello' }] } };
  }
}

export { FunctionTool };

export const runner = new Runner({
  appName: 'size',
  agent: new LlmAgent({ name: 'agent', model: new ScriptedModel() }),
  sessionService: new InMemorySessionService(),
});
