import * as z from 'zod';
import { describeKind } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';

/** Faults that a message names; a body can have any number of them. */
const MAX_FAULTS = 3;

/**
 * What a body says, by its schema.
 * @param name what the message calls the body itself
 * @throws InvalidRequestError that names each path at fault and what it must be: `newMessage.parts[0].text: must be a string, is the number 5`
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, name = 'body'): z.output<S> {
  const parsed = schema.safeParse(body, { error: describeFault });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const faults = issues.slice(0, MAX_FAULTS).map(({ path, message }) => `${toPath(path) || name}: ${message}`);
  const more = issues.length - faults.length;
  throw new InvalidRequestError(faults.join('; ') + (more > 0 ? `; and ${more} more` : ''));
}

function toPath(segments: readonly PropertyKey[]): string {
  return segments.reduce<string>((path, segment) => {
    if (typeof segment === 'number') return `${path}[${segment}]`;
    return path === '' ? String(segment) : `${path}.${String(segment)}`;
  }, '');
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** What zod found, in the words of this project; undefined leaves it to zod's own. */
function describeFault(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}, is ${describeKind(issue.input)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    default:
      return undefined;
  }
}
