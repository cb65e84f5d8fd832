import type { CallbackContext, FunctionDeclaration, LlmRequest, RunConfig } from '@eventloom/core';
import { copyPlain, isRecord } from '@eventloom/core/internal';
import { isFunctionTool, ValueSchema } from '@eventloom/tools';
import { RunnerPlugin } from './base-plugin.ts';

/**
 * The values of `type` in a `Schema` of `@google/genai`. It has the name and the members of the enumeration there, so
 * the compiler takes one for the other.
 */
declare enum Type {
  TYPE_UNSPECIFIED = 'TYPE_UNSPECIFIED',
  STRING = 'STRING',
  NUMBER = 'NUMBER',
  INTEGER = 'INTEGER',
  BOOLEAN = 'BOOLEAN',
  ARRAY = 'ARRAY',
  OBJECT = 'OBJECT',
  NULL = 'NULL',
}

/** A schema in the form of Gemini, with the structure of the `Schema` of `@google/genai`. */
export interface GeminiSchema {
  anyOf?: GeminiSchema[];
  default?: unknown;
  description?: string;
  enum?: string[];
  example?: unknown;
  format?: string;
  items?: GeminiSchema;
  maxItems?: string;
  maxLength?: string;
  maxProperties?: string;
  maximum?: number;
  minItems?: string;
  minLength?: string;
  minProperties?: string;
  minimum?: number;
  nullable?: boolean;
  pattern?: string;
  properties?: Record<string, GeminiSchema>;
  propertyOrdering?: string[];
  required?: string[];
  title?: string;
  type?: Type;
}

/** Keys of JSON Schema that a schema of Gemini does not have. */
const DROPPED = new Set([
  '$schema',
  '$id',
  'additionalProperties',
  'propertyNames',
  'readOnly',
  'const',
  'type',
  'anyOf',
  'oneOf',
  'prefixItems',
]);
/** Limits that a schema of Gemini has as texts. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/**
 * Returns a JSON Schema in the form of Gemini, as `zodObjectToSchema` of `@google/adk` gives it: types in capitals,
 * `nullable` in place of null as a type, counts as texts, and for a tuple `items` that are any of its items. Keywords
 * without a counterpart stay as they are.
 */
export function toGeminiSchema(json: unknown): GeminiSchema {
  return isRecord(json) ? (convert(json) as GeminiSchema) : {};
}

function convert(json: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const schema: Record<string, unknown> = {};
  const types = [json['type'] ?? []].flat().map(String);
  const branches = [json['anyOf'] ?? json['oneOf'] ?? []].flat().filter(isRecord);
  const named = types.filter((type) => type !== 'null');
  const others = branches.filter((branch) => branch['type'] !== 'null');
  if (named.length < types.length && named.length > 0) schema['nullable'] = true;
  if (others.length < branches.length) schema['nullable'] = true;
  if (named.length > 1) schema['anyOf'] = named.map((type) => ({ type: type.toUpperCase() }));
  else if (types[0] !== undefined) schema['type'] = (named[0] ?? 'null').toUpperCase();
  const [only] = others;
  if (others.length > 1) schema['anyOf'] = others.map(convert);
  else if (only) Object.assign(schema, convert(only));
  if ('const' in json) schema['enum'] = [json['const']];
  if (Array.isArray(json['prefixItems'])) Object.assign(schema, convertTuple(json['prefixItems'], json['items']));
  for (const [key, value] of Object.entries(json)) {
    if (DROPPED.has(key)) continue;
    if (key === 'properties' || key === '$defs' || key === 'definitions') schema[key] = convertEach(value);
    else if (key === 'allOf') schema[key] = Array.isArray(value) ? value.filter(isRecord).map(convert) : value;
    else if (key === 'items') schema[key] ??= isRecord(value) ? convert(value) : value;
    else if (COUNTS.has(key)) schema[key] = String(value);
    else if (key === 'exclusiveMinimum' && typeof value === 'number')
      Object.assign(schema, { minimum: value, [key]: true });
    else if (key === 'exclusiveMaximum' && typeof value === 'number')
      Object.assign(schema, { maximum: value, [key]: true });
    else if (key === 'pattern' && (json['format'] === 'email' || json['format'] === 'uuid')) continue;
    else schema[key] = value;
  }
  return schema;
}

/** @param rest the schema of the items after the first ones; false if there are none */
function convertTuple(first: readonly unknown[], rest: unknown): Record<string, unknown> {
  const items = { anyOf: [...first, rest].filter(isRecord).map(convert) };
  return rest === false ? { items, maxItems: String(first.length) } : { items };
}

function convertEach(schemas: unknown): Record<string, unknown> {
  const entries = isRecord(schemas) ? Object.entries(schemas) : [];
  return Object.fromEntries(entries.map(([name, each]) => [name, isRecord(each) ? convert(each) : each]));
}

/**
 * Gives every request the fields that models, callbacks and plugins of programs for `@google/adk` read: `parameters` of
 * declarations, `responseSchema`, and `liveConnectConfig`. The first two are views of `parametersJsonSchema` and
 * `responseJsonSchema`, which models of Eventloom read: copies of an object leave them out, and a changed or an
 * assigned value replaces the JSON Schema.
 */
export class GeminiSchemas extends RunnerPlugin {
  constructor() {
    super('eventloom-gemini-schemas');
  }

  override beforeModelCallback({
    llmRequest,
  }: {
    callbackContext: CallbackContext;
    llmRequest: LlmRequest;
  }): undefined {
    const { config, toolsDict } = llmRequest;
    addLiveConfig(llmRequest);
    if (config.tools)
      config.tools = config.tools.map((tool) => {
        const declarations = isRecord(tool) ? tool['functionDeclarations'] : undefined;
        if (!Array.isArray(declarations)) return tool;
        return {
          ...(tool as object),
          functionDeclarations: declarations.map((each: FunctionDeclaration) => withParameters(each, toolsDict)),
        };
      });
    if (config.responseSchema === undefined) addView(config, 'responseSchema', 'responseJsonSchema');
  }
}

/** Options of a run that the ADK has in `liveConnectConfig`. */
const LIVE_OPTIONS = [
  'responseModalities',
  'speechConfig',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
  'proactivity',
  'enableAffectiveDialog',
  'sessionResumption',
] as const;

/** Returns `liveConnectConfig` as the tools of a step find it: a copy of the options of the run. */
export function liveOptionsOf(runConfig: RunConfig): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const option of LIVE_OPTIONS)
    if (runConfig[option] !== undefined) options[option] = copyPlain<unknown>(runConfig[option]);
  return options;
}

/** Defines `liveConnectConfig`: the options of `config` for a live connection, and what the program writes to it. */
function addLiveConfig(request: LlmRequest & { liveConnectConfig?: unknown }): void {
  if (Object.getOwnPropertyDescriptor(request, 'liveConnectConfig')?.get) return;
  // It has the options of the run, and what tools wrote.
  const given = request.liveConnectConfig;
  let live: Record<string, unknown> = isRecord(given) ? given : {};
  Object.defineProperty(request, 'liveConnectConfig', {
    get: () => {
      for (const option of LIVE_OPTIONS)
        if (request.config[option] !== undefined) live[option] ??= request.config[option];
      return live;
    },
    set: (value: Record<string, unknown>) => {
      live = value;
    },
  });
}

function withParameters(declaration: FunctionDeclaration, toolsDict: LlmRequest['toolsDict']): FunctionDeclaration {
  if (declaration.parameters !== undefined) return declaration;
  const view: FunctionDeclaration = { ...declaration };
  // The ADK declares a function without arguments with an empty object.
  const none = isFunctionTool(toolsDict[declaration.name ?? '']) ? NO_PARAMETERS : undefined;
  addView(view, 'parameters', 'parametersJsonSchema', none);
  return view;
}

const NO_PARAMETERS = Object.freeze({ type: 'object', properties: {} });

/**
 * Defines a field that is another one, the source, in the form of Gemini. An assigned value takes the place of both. If
 * the program changes the value of the field in place, the source is the changed value as a JSON Schema.
 * @param none stands for a missing source
 */
function addView(owner: object, field: string, source: string, none?: object): void {
  let given: unknown;
  let view: { readonly schema: GeminiSchema; readonly before: string } | undefined;
  const assign = (name: string, value: unknown): void =>
    void Object.defineProperty(owner, name, { value, writable: true, enumerable: true, configurable: true });
  const sourceOf = (): unknown => {
    if (!view || JSON.stringify(view.schema) === view.before) return given;
    return new ValueSchema(structuredClone(view.schema) as Record<string, unknown>, field).json;
  };
  Object.defineProperty(owner, field, {
    get() {
      if (view && Object.getOwnPropertyDescriptor(owner, source)?.get) return view.schema;
      given = Reflect.get(owner, source);
      const json = given ?? none;
      if (!isRecord(json)) return undefined;
      const schema = toGeminiSchema(structuredClone(json));
      view = { schema, before: JSON.stringify(schema) };
      const set = (value: unknown): void => assign(source, value);
      Object.defineProperty(owner, source, { get: sourceOf, set, enumerable: true, configurable: true });
      return schema;
    },
    set: (value: unknown) => {
      Reflect.deleteProperty(owner, source);
      assign(field, value);
    },
    enumerable: false,
    configurable: true,
  });
}
