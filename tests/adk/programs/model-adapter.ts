// A model of another service: it reads the declarations and the output schema of a request, and the program's callbacks read them too.
import {
  BaseLlm,
  type BaseLlmConnection,
  BasePlugin,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  zodObjectToSchema,
} from '@google/adk';
import { type Schema, type Tool, Type } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program, Tell } from '../stage.ts';

const City = z.object({ name: z.string().describe('In English.'), people: z.number().optional() });

/** Describes a request as an adapter for another service sends it. */
function describe({ config }: LlmRequest): object {
  const [tool] = (config?.tools ?? []) as Tool[];
  return {
    functions: tool?.functionDeclarations?.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    schema: config?.responseSchema ?? null,
    format: config?.responseMimeType ?? null,
  };
}

class Adapter extends BaseLlm {
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const schema: Schema | undefined = request.config?.responseSchema as Schema | undefined;
    const answer = schema ? { name: 'Rome' } : describe(request);
    yield { content: { role: 'model', parts: [{ text: JSON.stringify(answer) }] } };
  }
  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('The service has no live connection.');
  }
}

class Reader extends BasePlugin {
  readonly #tell: Tell;
  constructor(tell: Tell) {
    super('reader');
    this.#tell = tell;
  }
  override async beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }): Promise<undefined> {
    this.#tell({ plugin: describe(llmRequest) });
    return undefined;
  }
}

const search = new FunctionTool({ name: 'search', description: 'Finds a city.', parameters: City, execute: () => 1 });
const now = new FunctionTool({ name: 'now', description: 'Tells the time.', execute: () => 'noon' });

const program: Program = {
  replies: [jsonReply(wireResponse('Nothing found.'))],
  async main(tell) {
    const model = new Adapter({ model: 'other-service' });
    await converse(tell, new LlmAgent({ name: 'finder', model, tools: [search, now] }), ['Where?']);
    const typed = new LlmAgent({
      name: 'writer',
      model,
      outputSchema: City,
      beforeModelCallback: ({ request }) => {
        tell({ callback: describe(request) });
        return undefined;
      },
    });
    await converse(tell, typed, ['Name a city.']);
    const schema: Schema = zodObjectToSchema(City);
    tell({ schema, isObject: schema.type === Type.OBJECT });
    const again = new FunctionTool({ name: 'again', description: 'Finds it.', parameters: schema, execute: () => 1 });
    await converse(tell, new LlmAgent({ name: 'asker', model: 'gemini-flash-latest', tools: [again] }), ['Again?']);
    const runner = new InMemoryRunner({
      agent: new LlmAgent({ name: 'reader', model, tools: [search] }),
      appName: 'p',
      plugins: [new Reader(tell)],
    });
    const newMessage = { role: 'user', parts: [{ text: 'Where?' }] };
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) tell(event);
  },
};
export default program;
