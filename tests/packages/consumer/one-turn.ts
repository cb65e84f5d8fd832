/** A program with five packages: one turn with a custom model. Prints `hello`. */
import { BaseLlm, isFinalResponse, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';

class Echo extends BaseLlm {
  constructor() {
    super({ model: 'echo' });
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: 'hello' }] } };
  }
}

const sessionService = new InMemorySessionService();
const runner = new Runner({
  appName: 'app',
  agent: new LlmAgent({ name: 'echo', model: new Echo() }),
  sessionService,
});

await sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
for await (const event of runner.runAsync({ userId: 'u', sessionId: 's', newMessage })) {
  if (isFinalResponse(event) && event.content) console.log(event.content.parts?.[0]?.text);
}
