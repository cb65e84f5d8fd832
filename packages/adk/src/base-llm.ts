import { BaseLlm, type Content } from '@eventloom/core';
import { CONTINUE } from '@eventloom/core/internal';
import { isInstanceOf } from './class-checks.ts';

/** The base of model classes of the program. */
abstract class OwnLlm extends BaseLlm {
  /** The name of the class in error messages. */
  static override readonly name: string = 'BaseLlm';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, OwnLlm, BaseLlm, value);
  }

  /** Adds a message of the user to a request that has none at its end, because services refuse such a request. */
  maybeAppendUserContent(request: { contents: Content[] }): void {
    const { contents } = request;
    if (contents.at(-1)?.role !== 'user') contents.push({ role: 'user', parts: [{ text: CONTINUE }] });
  }
}

/** Any model of programs that were written for `@google/adk`, also one of another package of Eventloom. */
export type AdkBaseLlm = BaseLlm;

/**
 * Base class of models for programs that were written for `@google/adk`: that of `@eventloom/core`, with `maybeAppendUserContent`.
 *
 * @example
 * class Echo extends BaseLlm {
 *   override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
 *     this.maybeAppendUserContent(request);
 *     yield { content: { role: 'model', parts: request.contents.at(-1)?.parts ?? [] } };
 *   }
 * }
 */
export const AdkBaseLlm: typeof OwnLlm = OwnLlm;
