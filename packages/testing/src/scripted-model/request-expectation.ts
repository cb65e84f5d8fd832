import { contentText, type LlmRequest } from '@eventloom/core';

/** Expectations about a request. Only the given fields are checked. */
export interface RequestExpectation {
  /** The text of the last content with the role `user`: a string that it equals, or a pattern that it matches. */
  readonly lastUserText?: string | RegExp;
  /** A substring of the system instruction, or a pattern that it matches. */
  readonly systemInstruction?: string | RegExp;
  /** The names of all tools of the request, in any order. */
  readonly tools?: readonly string[];
  /** A custom check. The expectation fails if it returns false or throws. */
  readonly matches?: (request: LlmRequest) => boolean | void;
}

/** Returns the first difference between the request and the expectation, or undefined. */
export function unmetExpectation(request: LlmRequest, expected: RequestExpectation): string | undefined {
  const { lastUserText, systemInstruction, tools, matches } = expected;
  if (lastUserText !== undefined) {
    const text = lastUserTextOf(request);
    if (!(typeof lastUserText === 'string' ? text === lastUserText : lastUserText.test(text ?? ''))) {
      return `the last user text is ${JSON.stringify(text)}, expected ${describe(lastUserText)}`;
    }
  }
  if (systemInstruction !== undefined) {
    const actual = request.config.systemInstruction;
    const text = typeof actual === 'string' ? actual : (JSON.stringify(actual) ?? '');
    if (!(typeof systemInstruction === 'string' ? text.includes(systemInstruction) : systemInstruction.test(text))) {
      return `the system instruction is ${JSON.stringify(text)}, expected ${describe(systemInstruction)}`;
    }
  }
  if (tools !== undefined) {
    const names = Object.keys(request.toolsDict).toSorted();
    if (names.join() !== tools.toSorted().join()) {
      return `the tools are [${names.join(', ')}], expected [${tools.toSorted().join(', ')}]`;
    }
  }
  if (matches) return unmatched(request, matches);
  return undefined;
}

function unmatched(request: LlmRequest, matches: NonNullable<RequestExpectation['matches']>): string | undefined {
  try {
    return matches(request) === false ? 'the request does not match' : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the text of the last content of role `user`; undefined if there is none. */
export function lastUserTextOf(request: LlmRequest): string | undefined {
  const content = request.contents.findLast(({ role }) => role === 'user');
  return content && contentText(content);
}

function describe(expected: string | RegExp): string {
  return typeof expected === 'string' ? JSON.stringify(expected) : String(expected);
}
