import {
  appendInstructions,
  BaseTool,
  ConfigurationError,
  type Content,
  contentText,
  type MaybePromise,
  type Part,
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
  override runAsync(): Promise<never> {
    return Promise.reject(new ConfigurationError('example_tool: is not a function that the model can call'));
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { examples } = this;
    const query = contentText(toolContext.userContent);
    if (query === '') return;
    const chosen = isBaseExampleProvider(examples) ? await examples.getExamples(query) : examples;
    if (chosen.length > 0) appendInstructions(llmRequest, [toInstruction(chosen)]);
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

function toInstruction(examples: readonly Example[]): string {
  const texts = examples.map(({ input, output }, index) => {
    const turns = [{ ...input, role: 'user' }, ...output].map(turnText).filter((text) => text !== '');
    return `EXAMPLE ${index + 1}:\nBegin example\n${turns.join('\n')}\nEnd example`;
  });
  return `<EXAMPLES>
Begin few-shot
The following are examples of user queries and model responses using the available tools.

${texts.join('\n\n')}

End few-shot
</EXAMPLES>`;
}

function turnText({ role, parts = [] }: Content): string {
  const lines = parts.flatMap((part) => partText(part) ?? []);
  return lines.length === 0 ? '' : `[${role === 'model' ? 'model' : 'user'}]\n${lines.join('\n')}`;
}

function partText({ text, functionCall, functionResponse }: Part): string | undefined {
  if (functionCall)
    return fenced('tool_code', `${functionCall.name ?? ''}(${JSON.stringify(functionCall.args ?? {})})`);
  if (functionResponse) {
    const { name, response = {} } = functionResponse;
    return fenced('tool_outputs', JSON.stringify({ name, response }));
  }
  return text || undefined;
}

function fenced(kind: string, text: string): string {
  return `\`\`\`${kind}\n${text}\n\`\`\``;
}
