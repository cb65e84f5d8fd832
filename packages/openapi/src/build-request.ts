import { isRecord, setOwn } from '@eventloom/core/internal';
import { ApiCallError } from './errors.ts';
import type { ApiParameter, ParameterPlace } from './operations.ts';
import { writeHeaderValue, writePairs, writePathValue } from './serialize-parameter.ts';

/** A parameter and the argument of the model that fills it. */
export interface ArgumentParameter {
  readonly argument: string;
  readonly parameter: ApiParameter;
}

/** A request under construction. */
export interface RequestDraft {
  readonly method: string;
  /** The URL without its query. */
  url: string;
  /** The encoded `name=value` pairs of the query. */
  readonly query: string[];
  /** The headers; their names are in lower case. */
  readonly headers: Record<string, string>;
  /** The encoded `name=value` pairs of the cookies. */
  readonly cookies: string[];
  body: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Fills the parameters of an operation into a request.
 *
 * @throws ApiCallError for a value that would lead to another path, or is invalid in a header
 */
export function fillRequest(
  method: string,
  baseUrl: string,
  path: string,
  parameters: readonly ArgumentParameter[],
  args: Readonly<Record<string, unknown>>,
): RequestDraft {
  const given = (place: ParameterPlace) =>
    parameters.flatMap(({ argument, parameter }) =>
      parameter.in === place && Object.hasOwn(args, argument) && args[argument] !== undefined
        ? [{ argument, parameter, value: args[argument] }]
        : [],
    );
  const values = new Map(
    given('path').map(({ parameter, argument, value }) => [parameter.name, { parameter, argument, value }]),
  );
  // Some documents distinguish operations by a query or a fragment in the path; a fragment is not sent.
  const [whole = ''] = path.split('#', 1);
  const [template = '', fixedQuery] = whole.split('?', 2);
  const segments = template.split('/').map((segment) => {
    const filled = segment.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
      const held = values.get(name);
      const text = held ? writePathValue(held.parameter, held.value) : '';
      if (text === '')
        throw new ApiCallError(
          `the argument ${held?.argument ?? name} is a part of the path: expected a value that is not empty`,
        );
      return text;
    });
    // The segments `.` and `..` would lead to another path.
    if (filled !== segment && /^(\.|%2e){1,2}$/i.test(filled))
      throw new ApiCallError(
        `the path would contain ${JSON.stringify(filled)}, which leads to another path; give another value`,
      );
    return filled;
  });
  const headers: Record<string, string> = {};
  for (const { parameter, value } of given('header'))
    if (value !== null) setOwn(headers, parameter.name.toLowerCase(), writeHeaderValue(parameter, value));
  return {
    method,
    url: `${baseUrl}${segments.join('/')}`,
    query: [
      ...(fixedQuery === undefined || fixedQuery === '' ? [] : [fixedQuery]),
      ...given('query').flatMap(({ parameter, value }) => writePairs(parameter, value)),
    ],
    headers,
    cookies: given('cookie').flatMap(({ parameter, value }) => writePairs(parameter, value)),
    body: undefined,
  };
}

/** Returns the URL of a request, with its query. */
export function addressOf({ url, query }: RequestDraft): string {
  return query.length === 0 ? url : `${url}?${query.join('&')}`;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Returns the headers of a request, with its cookies.
 *
 * @throws ApiCallError for a name or a value that is invalid in a header
 */
export function headersOf({ headers, cookies }: RequestDraft): Record<string, string> {
  const all = cookies.length === 0 ? headers : { ...headers, cookie: joinCookies(headers['cookie'], cookies) };
  for (const [name, value] of Object.entries(all)) {
    if (!TOKEN.test(name)) throw new ApiCallError(`${JSON.stringify(name.slice(0, 60))} is not the name of a header`);
    if (!HEADER_VALUE.test(value))
      throw new ApiCallError(`the header ${name}: expected characters of ISO 8859-1 without line breaks`);
  }
  return all;
}

function joinCookies(given: string | undefined, cookies: readonly string[]): string {
  return [...(given === undefined || given === '' ? [] : [given]), ...cookies].join('; ');
}

/** Fills the variables in a server's URL, with the chosen values or the defaults of the document. */
export function fillServer(
  url: string,
  variables: Readonly<Record<string, unknown>>,
  chosen: Readonly<Record<string, string>>,
): string {
  return url.replaceAll(/\{([^{}]*)\}/g, (template, name: string) => {
    if (Object.hasOwn(chosen, name)) return chosen[name] ?? template;
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isRecord(variable) && typeof variable['default'] === 'string' ? variable['default'] : template;
  });
}
