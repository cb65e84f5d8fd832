import type { Content, FunctionCall, LlmResponse, Part } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { isDeeperThan } from '@eventloom/core/wire';

/** The deepest arguments that an event can hold. */
const MAX_LEVELS = 195;

/** The only key of arguments that stand for those that were left out. */
const LEFT_OUT = 'eventloom:leftOut';
const REASON = `the arguments were nested deeper than ${MAX_LEVELS} levels`;

/**
 * The response without arguments that nest too deep for an event: they are replaced by a note, which the event of the call keeps, so that
 * the call is never run, also in a resumed run. The model is answered by `deepArgsError`. Anything else is the response itself.
 */
export function withoutDeepArgs<T extends Pick<LlmResponse, 'content' | 'alternatives'>>(response: T): T {
  const { content, alternatives } = response;
  let hasDeep = alternatives?.some((other) => other.content?.parts?.some(isDeep)) === true;
  // Nearly every part is a text: it costs no call.
  for (const part of content?.parts ?? []) if (part.functionCall && isDeep(part)) hasDeep = true;
  if (!hasDeep) return response;
  return {
    ...response,
    ...(content && { content: shallow(content) }),
    ...(alternatives && {
      alternatives: alternatives.map((other) =>
        other.content ? { ...other, content: shallow(other.content) } : other,
      ),
    }),
  };
}

/**
 * Returns the response for a call whose arguments were left out because they are nested too deep; undefined for other
 * calls.
 */
export function deepArgsError({ name, args }: FunctionCall): { readonly error: string } | undefined {
  if (!isRecord(args) || !Object.hasOwn(args, LEFT_OUT)) return undefined;
  return { error: `${name} was not called: ${REASON}; call it again with arguments that are nested less` };
}

function isDeep({ functionCall }: Part): boolean {
  return functionCall?.args !== undefined && isDeeperThan(MAX_LEVELS, functionCall.args);
}

function shallow(content: Content): Content {
  const parts = content.parts?.map((part) =>
    isDeep(part) ? { ...part, functionCall: { ...part.functionCall, args: { [LEFT_OUT]: REASON } } } : part,
  );
  return { ...content, ...(parts && { parts }) };
}
