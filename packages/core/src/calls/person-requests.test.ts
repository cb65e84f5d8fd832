import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { type InputRequestParams, toInputRequest } from './person-requests.ts';

test.each<[unknown, string]>([
  [
    { responseSchema: () => ({ type: 'string' }) },
    'requestInput: responseSchema: expected a schema, got a function; write responseSchema: z.string(), or a JSON Schema',
  ],
  [{ responseSchema: class Size {} }, 'requestInput: responseSchema: expected a schema, got the class Size'],
  [{ responseSchema: 'string' }, 'requestInput: responseSchema: expected a schema, got a string'],
  [{ mesage: 'Which size?' }, 'requestInput: has no option "mesage"; did you mean "message"?'],
  [{ message: ['Which size?'] }, "requestInput: message: expected a string, got a list; write message: 'Which size?'"],
  [
    'Which size?',
    "requestInput: expected an object of options, got a string; write requestInput({ message: 'Which size?' })",
  ],
])('the request %o is refused', (params, message) => {
  const convert = (): unknown => toInputRequest('requestInput', params as InputRequestParams);
  expect(convert).toThrow(ConfigurationError);
  expect(convert).toThrow(message);
});

test("a library's schema that is a function is accepted", () => {
  const schema = Object.assign(() => true, {
    '~standard': {
      version: 1,
      vendor: 'fn',
      validate: () => ({ value: 1 }),
      jsonSchema: { input: () => ({ type: 'integer' }) },
    },
  });
  expect(toInputRequest('requestInput', { responseSchema: schema })).toEqual({
    key: '',
    responseSchema: { type: 'integer' },
  });
});
