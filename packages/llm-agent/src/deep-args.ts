import type { Content, FunctionCall, LlmResponse, Part } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { isDeeperThan } from '@eventloom/core/wire';

/** Maximum nesting depth of arguments that an event can hold. */
const MAX_LEVELS = 195;

/** The only key of the note that replaces arguments that were left out. */
const LEFT_OUT = 'eventloom:leftOut';
const REASON = `the arguments were nested deeper than ${MAX_LEVELS} levels`;

/**
 * Returns the response with a note in place of arguments that are nested too deep for an event. The note is stored with the call, so the call is
 * never run, not even in a resumed run; `deepArgsError` gives the response for the model. Returns the same object if no arguments are too deep.
 */
export function withoutDeepArgs<T extends Pick<LlmResponse, 'content' | 'alternatives'>>(response: T): T {
  const { content, alternatives } = response;
  let hasDeep = alternatives?.some((other) => other.content?.parts?.some(isDeep)) === true;
  // Test `functionCall` first: most parts are text and need no function call.
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
