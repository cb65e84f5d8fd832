import {
  BasePlugin,
  type CallbackContext,
  ConfigurationError,
  type LlmRequest,
  type LlmResponse,
  ReadonlyContext,
} from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import type { InstructionProvider } from '@eventloom/llm-agent';
import { resolveInstruction } from '@eventloom/llm-agent/internal';

/**
 * Adds an instruction before the instruction of every agent of a runner. A text may have placeholders, like the instruction of an agent:
 * `{user:name}`. A function is called for each request and returns the text.
 *
 * @example
 * const plugins = [new GlobalInstructionPlugin('Answer in {user:language?}.')];
 */
export class GlobalInstructionPlugin extends BasePlugin {
  readonly #instruction: string | InstructionProvider;

  /**
   * @param name default `global_instruction`
   * @throws ConfigurationError for a value that is neither a text nor a function
   */
  constructor(globalInstruction: string | InstructionProvider = '', name = 'global_instruction') {
    super(name);
    if (typeof globalInstruction !== 'string' && typeof globalInstruction !== 'function')
      throw new ConfigurationError(
        `GlobalInstructionPlugin: globalInstruction: expected a string or a function of the context, got ${describeKind(globalInstruction)}; write new GlobalInstructionPlugin('Be brief.')`,
      );
    this.#instruction = globalInstruction;
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: {
    callbackContext: CallbackContext;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    const context = new ReadonlyContext(callbackContext.invocationContext);
    const instruction = await resolveInstruction('GlobalInstructionPlugin', this.#instruction, context);
    if (instruction === '') return undefined;
    const { systemInstruction: own } = llmRequest.config;
    if (own === undefined || own === '') llmRequest.config.systemInstruction = instruction;
    else if (typeof own === 'string') llmRequest.config.systemInstruction = `${instruction}\n\n${own}`;
    else llmRequest.config.systemInstruction = [instruction, ...(Array.isArray(own) ? (own as unknown[]) : [own])];
    return undefined;
  }
}
