import { BaseTool, type ToolProcessLlmRequest } from 'eventloom';

/** Google Search, which Gemini's own service runs. */
class GoogleSearchTool extends BaseTool {
  constructor() {
    super({ name: 'google_search', description: 'Searches the web.' });
  }

  override processLlmRequest({ llmRequest: { config } }: ToolProcessLlmRequest): void {
    config.tools = [...(config.tools ?? []), { googleSearch: {} }];
  }

  override runAsync(): Promise<unknown> {
    return Promise.reject(new TypeError('the service runs it'));
  }
}

export const GOOGLE_SEARCH = new GoogleSearchTool();
