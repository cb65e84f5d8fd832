import type { FunctionDeclaration } from '../content/content.ts';
import { copyJson } from '../content/copy-json.ts';
import { describeKind, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { isPersonRequest, isReservedToolName, isToolName } from './reserved-calls.ts';

/** Maximum number of declarations of one run. */
const MAX_DECLARATIONS = 128;
/** Maximum size of all declarations of one run together, in characters of JSON. */
const MAX_CHARACTERS = 262_144;

const FIELDS: ReadonlySet<string> = new Set<keyof FunctionDeclaration>([
  'name',
  'description',
  'parametersJsonSchema',
  'parameters',
  'responseJsonSchema',
  'response',
]);
const SCHEMAS = ['parametersJsonSchema', 'parameters', 'responseJsonSchema', 'response'] as const;

/** Checks `runConfig.clientTools`. @throws ConfigurationError that names the invalid declaration */
export function checkClientTools(given: unknown): void {
  const path = 'runConfig.clientTools';
  if (!Array.isArray(given))
    throw new ConfigurationError(
      `${path}: expected a list of function declarations, got ${describeKind(given)}; write [{ name, description, parametersJsonSchema }]`,
    );
  if (given.length > MAX_DECLARATIONS)
    throw new ConfigurationError(`${path}: has ${given.length} declarations; at most ${MAX_DECLARATIONS} are allowed`);
  const copied = copyJson(given);
  if ('fault' in copied) throw new ConfigurationError(`${path}.${copied.fault.path}: ${copied.fault.reason}`);
  const { length } = JSON.stringify(copied.value);
  if (length > MAX_CHARACTERS)
    throw new ConfigurationError(`${path}: has ${length} characters of JSON; at most ${MAX_CHARACTERS} are allowed`);
  const names = new Set<string>();
  for (const [index, declaration] of given.entries()) {
    const name = checkDeclaration(`${path}[${index}]`, declaration);
    if (names.has(name))
      throw new ConfigurationError(`${path}: declares ${JSON.stringify(name)} twice; give one of them another name`);
    names.add(name);
  }
}

/** Checks one declaration and returns the name of the function. */
function checkDeclaration(path: string, given: unknown): string {
  if (!isRecord(given))
    throw new ConfigurationError(`${path}: expected a function declaration, got ${describeKind(given)}`);
  const unknown = Object.keys(given).find((field) => !FIELDS.has(field));
  if (unknown !== undefined)
    throw new ConfigurationError(`${path}.${unknown}: no such field; a declaration has ${[...FIELDS].join(', ')}`);
  const { name, description } = given;
  if (!isToolName(name))
    throw new ConfigurationError(
      `${path}.name: expected 1 to 128 letters, digits, _ . : and -, beginning with a letter or _, got ${JSON.stringify(name)}`,
    );
  if (isReservedToolName(name) || isPersonRequest({ name }))
    throw new ConfigurationError(
      `${path}.name: ${JSON.stringify(name)} is reserved for a function of the runtime; choose another name`,
    );
  if (description !== undefined && typeof description !== 'string')
    throw new ConfigurationError(`${path}.description: expected a string, got ${describeKind(description)}`);
  for (const field of SCHEMAS) {
    if (given[field] !== undefined && !isRecord(given[field]))
      throw new ConfigurationError(`${path}.${field}: expected an object, got ${describeKind(given[field])}`);
  }
  if (given['parameters'] !== undefined && given['parametersJsonSchema'] !== undefined)
    throw new ConfigurationError(`${path}: has parameters and parametersJsonSchema; remove one of them`);
  return name;
}
