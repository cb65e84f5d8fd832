import type { InputRequest } from '@eventloom/core';
import { ValueSchema } from '@eventloom/tools';
import { failAnswer, parseJson } from './unwrapped-answer.ts';

type JsonRecord = Readonly<Record<string, unknown>>;

/**
 * The answer to a request for input, as it is stored: `{result}`. Clients send that, or an object that is the answer itself, which the
 * schema tells apart. A text
 * that the schema does not want is read as JSON: people type it.
 * @throws InvalidMessageError for an answer that the request's schema does not let through
 */
export async function readInput(
  { responseSchema }: InputRequest,
  response: JsonRecord,
  id: string,
): Promise<{ readonly result: unknown }> {
  const keys = Object.keys(response);
  const value = keys.length === 1 && keys[0] === 'result' ? response['result'] : response;
  if (!responseSchema) return { result: value };
  const schema = new ValueSchema(responseSchema, `request ${JSON.stringify(id)}`);
  const issues = await issuesOf(schema, value);
  if (issues.length === 0) return { result: value };
  // An answer may be an object with nothing but a `result` by itself.
  for (const other of [response, typeof value === 'string' ? parseJson(value) : undefined])
    if (other !== undefined && (await issuesOf(schema, other)).length === 0) return { result: other };
  return failAnswer(id, `has an answer that is not as it was asked for: ${issues.join('; ')}`);
}

async function issuesOf(schema: ValueSchema, value: unknown): Promise<readonly string[]> {
  const checked = await schema.check(value);
  return 'issues' in checked ? checked.issues : [];
}
