import {
  appendInstructions,
  BaseTool,
  ConfigurationError,
  type Content,
  contentText,
  type MaybePromise,
  type Part,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';

/** A conversation that shows the model how to answer. */
export interface Example {
  /** The user's message. */
  readonly input: Content;
  /** The answer, including calls of tools and their responses. */
  readonly output: readonly Content[];
}

/** A source of examples for a message, such as a search for similar ones. */
export abstract class BaseExampleProvider {
  get '~eventloom.example-provider'(): true {
    return true;
  }

  /** Returns the examples for the text of the user's message. */
  abstract getExamples(query: string): MaybePromise<readonly Example[]>;
}

/** True for providers of examples, including those of another loaded copy of this package. */
export function isBaseExampleProvider(value: unknown): value is BaseExampleProvider {
  return typeof value === 'object' && value !== null && '~eventloom.example-provider' in value;
}

/**
 * Adds examples of conversations to the instruction of each request (few-shot examples). The model cannot call it.
 *
 * @example
 * const weather = new ExampleTool([
 *   {
 *     input: { role: 'user', parts: [{ text: 'Rain in Rome?' }] },
 *     output: [{ role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Rome' } } }] }],
 *   },
 * ]);
 */
export class ExampleTool extends BaseTool {
  readonly examples: readonly Example[] | BaseExampleProvider;

  /** @throws ConfigurationError for a value that is neither a list of examples nor a provider */
  constructor(examples: readonly Example[] | BaseExampleProvider) {
    super({ name: 'example_tool', description: 'Adds examples to the instruction.' });
    if (!isBaseExampleProvider(examples)) checkExamples(examples);
    this.examples = examples;
  }

  /** @throws ConfigurationError always: the tool is not offered to models */
  override runAsync(_request: RunAsyncToolRequest): Promise<unknown> {
    return Promise.reject(new ConfigurationError('example_tool: is not a function that the model can call'));
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { examples } = this;
    const query = contentText(toolContext.userContent);
    if (query === '') return;
    const chosen = isBaseExampleProvider(examples) ? await examples.getExamples(query) : examples;
    if (chosen.length > 0) appendInstructions(llmRequest, [toInstruction(chosen, llmRequest.model)]);
  }
}

function checkExamples(examples: unknown): void {
  const isList = Array.isArray(examples);
  const index = isList ? examples.findIndex((example: Partial<Example> | null) => !Array.isArray(example?.output)) : -1;
  if (isList && index < 0) return;
  throw new ConfigurationError(
    `ExampleTool: ${isList ? `examples[${index}]: expected an example with input and output` : `expected a list of examples, got ${describeKind(examples)}`}; write [{ input: { role: 'user', parts: [{ text: '…' }] }, output: [{ role: 'model', parts: [{ text: '…' }] }] }]`,
  );
}

/** Returns the text that the ADK writes for examples: models were shown this form. */
function toInstruction(examples: readonly Example[], model: string | undefined): string {
  const hasPlainFences = !model || model.includes('gemini-2');
  const texts = examples.map(({ input, output }, index) => {
    const query = input.parts?.flatMap(({ text }) => text || []).join('\n') ?? '';
    let text = `EXAMPLE ${index + 1}:\nBegin example\n[user]\n${query}\n`;
    let lastRole: string | undefined;
    for (const { role: written, parts = [] } of output) {
      const role = written === 'model' ? 'model' : 'user';
      if (role !== lastRole) text += `[${role}]\n`;
      lastRole = role;
      for (const part of parts) text += partText(part, hasPlainFences);
    }
    return `${text}End example\n\n`;
  });
  return `<EXAMPLES>
Begin few-shot
The following are examples of user queries and model responses using the available tools.

${texts.join('')}End few-shot
<EXAMPLES>`;
}

function partText({ text, functionCall, functionResponse }: Part, hasPlainFences: boolean): string {
  if (functionCall) {
    const args = Object.entries(functionCall.args ?? {}).map(([name, value]) => `${name}=${argumentText(value)}`);
    return fenced(hasPlainFences ? '' : 'tool_code', `${functionCall.name ?? ''}(${args.join(', ')})`);
  }
  if (functionResponse) return fenced(hasPlainFences ? '' : 'tool_outputs', JSON.stringify(functionResponse));
  return text ? `${text}\n` : '';
}

function argumentText(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function fenced(kind: string, text: string): string {
  return `\`\`\`${kind}\n${text}\n\`\`\`\n`;
}
