import {
  type AuthCredential,
  BaseTool,
  BaseToolset,
  ConfigurationError,
  type FunctionDeclaration,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from '@eventloom/core';
import { getOwn, isRecord, isToolName, setOwn } from '@eventloom/core/internal';
import { OpenAPIToolset, type OpenAPIToolsetOptions, RestApiTool } from '@eventloom/openapi';
import { ValueSchema } from '@eventloom/tools';
import type { AuthScheme } from './auth.ts';
import { recordOf, requireOptions } from './check-arguments.ts';

/**
 * Options of the `OpenAPIToolset` for programs that were written for `@google/adk`: those of `@eventloom/openapi`, and
 * `preservePropertyNames`.
 */
export interface AdkOpenAPIToolsetOptions extends OpenAPIToolsetOptions {
  /** True keeps the names of parameters as the document has them. Default false: they are in snake case. */
  readonly preservePropertyNames?: boolean | undefined;
}

/** The place of an operation: the URL of the server, and the path and the method there. */
export interface OperationEndpoint {
  readonly baseUrl: string;
  readonly path: string;
  readonly method: string;
}

/** Options of `RestApiTool`. */
export interface RestApiToolOptions {
  readonly preservePropertyNames?: boolean | undefined;
  readonly headerProvider?: OpenAPIToolsetOptions['headerProvider'];
  readonly credentialKey?: string | undefined;
}

/** An operation, as `createRestApiTool` takes it. */
export interface ParsedOperation {
  readonly name: string;
  readonly description: string;
  readonly endpoint: OperationEndpoint;
  /** The operation as an OpenAPI document has it, with `parameters`, `requestBody` and `responses`. */
  readonly operation: object;
  readonly authScheme?: AuthScheme | undefined;
}

/**
 * A tool that calls one operation of a REST API, for programs that were written for `@google/adk`. It is the
 * `RestApiTool` of `@eventloom/openapi` with the arguments and results of the ADK: names are in snake case, the
 * properties of a JSON body are arguments beside the others, and the result is the body of the response. A status of
 * 400 and above gives `{ error, status, body }`. Requests reach the host of the endpoint only.
 *
 * @example
 * const tool = new RestApiTool(
 *   'get_pet',
 *   'Returns a pet.',
 *   { baseUrl: 'https://pets.example.com', path: '/pets/{petId}', method: 'get' },
 *   { parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'string' } }] },
 * );
 */
export class AdkRestApiTool extends BaseTool {
  /** The name of the class in error messages. */
  static override readonly name: string = 'RestApiTool';
  readonly #endpoint: OperationEndpoint;
  readonly #operation: object;
  readonly #options: RestApiToolOptions;
  #authScheme: AuthScheme | undefined;
  #authCredential: AuthCredential | undefined;
  #credentialKey: string | undefined;
  #loading: Promise<AdaptedTool> | undefined;
  #adapted: AdaptedTool | undefined;
  #isOfToolset = false;

  /** @throws ConfigurationError for a name that models do not accept */
  constructor(
    name: string,
    description: string,
    endpoint: OperationEndpoint,
    operation: object,
    authScheme?: AuthScheme,
    authCredential?: AuthCredential,
    options: RestApiToolOptions = {},
  ) {
    super({ name, description });
    this.#endpoint = endpoint;
    this.#operation = operation;
    this.#authScheme = authScheme;
    this.#authCredential = authCredential;
    this.#credentialKey = options.credentialKey;
    this.#options = options;
  }

  /** Creates the tool over one that a toolset has read. @internal */
  static over(tool: RestApiTool, name: string, preservesNames: boolean): AdkRestApiTool {
    const { method, path } = tool.operation;
    const created = new AdkRestApiTool(name, tool.description, { baseUrl: '', path, method }, {});
    created.#adapted = new AdaptedTool(tool, preservesNames);
    created.#isOfToolset = true;
    return created;
  }

  /** Replaces the security scheme. */
  configureAuthScheme(authScheme: AuthScheme): void {
    this.#authScheme = authScheme;
    this.#forget('configureAuthScheme');
  }

  /** Replaces the app's own credential. */
  configureAuthCredential(authCredential: AuthCredential): void {
    this.#authCredential = authCredential;
    this.#forget('configureAuthCredential');
  }

  /** Replaces the key that the user's credential is stored under. */
  configureCredentialKey(credentialKey: string): void {
    this.#credentialKey = credentialKey;
    this.#forget('configureCredentialKey');
  }

  /** Returns the declaration; undefined before the first model request, in which the operation is read. */
  override _getDeclaration(): FunctionDeclaration | undefined {
    return this.#adapted && { name: this.name, description: this.description, ...this.#adapted.declaration };
  }

  /**
   * Reads the operation, and adds the declaration to the request.
   * @throws OpenApiDocumentError for an operation that is not described well enough
   */
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await this.#load();
    await super.processLlmRequest(request);
  }

  /** @throws ConfigurationError without a `toolContext` */
  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    if (!request.toolContext)
      throw new ConfigurationError(
        `RestApiTool "${this.name}": runAsync: toolContext is missing; call it in a tool of the program, with the context of that tool`,
      );
    return (await this.#load()).call(request, this.name);
  }

  async #load(): Promise<AdaptedTool> {
    this.#adapted ??= await (this.#loading ??= this.#read());
    return this.#adapted;
  }

  /** Reads the operation as a document that has only this one. */
  async #read(): Promise<AdaptedTool> {
    const { baseUrl, path, method } = this.#endpoint;
    const operation = { ...this.#operation, operationId: this.name };
    const toolset = new OpenAPIToolset({
      specDict: {
        openapi: '3.0.3',
        servers: [{ url: baseUrl }],
        paths: { [path]: { [method.toLowerCase()]: operation } },
      },
      allowPrivateNetworkAccess: true,
      authScheme: this.#authScheme,
      authCredential: this.#authCredential,
      credentialKey: this.#credentialKey,
      headerProvider: this.#options.headerProvider,
    });
    const [tool] = await toolset.getTools();
    if (!(tool instanceof RestApiTool))
      throw new ConfigurationError(
        `RestApiTool "${this.name}": operation: expected a method such as get or post, got ${JSON.stringify(method.slice(0, 40))}; write { path: '/pets', method: 'get' }`,
      );
    return new AdaptedTool(tool, this.#options.preservePropertyNames === true);
  }

  #forget(method: string): void {
    if (this.#isOfToolset)
      throw new ConfigurationError(
        `RestApiTool "${this.name}": ${method} has no effect on a tool of a toolset; write authScheme, authCredential and credentialKey in the options of OpenAPIToolset`,
      );
    this.#adapted = this.#loading = undefined;
  }
}

/** Creates the tool of an operation. @throws ConfigurationError for a name that models do not accept */
export function createRestApiTool(parsed: ParsedOperation, options: RestApiToolOptions = {}): AdkRestApiTool {
  requireOptions('createRestApiTool', parsed, 'createRestApiTool({ name, description, endpoint, operation })');
  const { name, description, endpoint, operation, authScheme } = parsed;
  return new AdkRestApiTool(name, description, endpoint, operation, authScheme, undefined, options);
}

/** An argument, and its name in the document. */
interface Argument {
  readonly original: string;
  readonly isOfBody: boolean;
}

/** A tool of `@eventloom/openapi` with the arguments and the results of the ADK. */
class AdaptedTool {
  readonly declaration: Pick<FunctionDeclaration, 'parametersJsonSchema'>;
  readonly #tool: RestApiTool;
  #schema: ValueSchema | undefined;
  readonly #arguments = new Map<string, Argument>();

  constructor(tool: RestApiTool, preservesNames: boolean) {
    this.#tool = tool;
    const { parametersJsonSchema } = tool._getDeclaration();
    const schema = recordOf(parametersJsonSchema);
    const properties: Record<string, unknown> = {};
    const required: string[] = [];
    const add = (argument: Argument, described: unknown, isRequired: boolean): void => {
      const name = this.#take(preservesNames ? argument.original : toSnakeCase(argument.original), argument);
      setOwn(properties, name, described);
      if (isRequired) required.push(name);
    };
    const requiredOf = (owner: Readonly<Record<string, unknown>>): readonly unknown[] =>
      Array.isArray(owner['required']) ? owner['required'] : [];
    for (const [original, described] of Object.entries(recordOf(schema['properties']))) {
      const body = original === 'body' ? objectBody(described, recordOf(schema['$defs'])) : undefined;
      if (!body) add({ original, isOfBody: false }, described, requiredOf(schema).includes(original));
      else
        for (const [name, each] of Object.entries(recordOf(body['properties'])))
          add({ original: name, isOfBody: true }, each, requiredOf(body).includes(name));
    }
    this.declaration = {
      parametersJsonSchema: { ...schema, properties, ...(required.length > 0 ? { required } : { required: [] }) },
    };
  }

  /** Calls the operation. Leaves out arguments that it does not have, as the ADK does. */
  async call({ args, toolContext }: RunAsyncToolRequest, toolName: string): Promise<unknown> {
    const known = Object.fromEntries(Object.entries(args).filter(([name]) => this.#arguments.has(name)));
    // The tool checks the arguments too, but its errors have the names of the document, which the model does not know.
    this.#schema ??= new ValueSchema(recordOf(this.declaration.parametersJsonSchema), `tool "${toolName}": parameters`);
    const checked = await this.#schema.check(known);
    if ('issues' in checked)
      return { error: `the arguments of ${toolName} are not valid: ${checked.issues.join('; ')}` };
    const given: Record<string, unknown> = {};
    const body: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(known)) {
      const argument = this.#arguments.get(name);
      setOwn(argument?.isOfBody ? body : given, argument?.original ?? name, value);
    }
    if (Object.keys(body).length > 0) given['body'] = body;
    return toBody(await this.#tool.runAsync({ args: given, toolContext }));
  }

  #take(wanted: string, argument: Argument): string {
    let name = wanted;
    for (let count = 1; this.#arguments.has(name); count++) name = `${wanted}_${count}`;
    this.#arguments.set(name, argument);
    return name;
  }
}

/** Returns the schema of a body whose properties become arguments: an object with named properties, given at once or by a reference. */
function objectBody(
  described: unknown,
  definitions: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { $ref } = recordOf(described);
  const name = typeof $ref === 'string' && $ref.startsWith('#/$defs/') ? $ref.slice('#/$defs/'.length) : undefined;
  const schema = recordOf(name === undefined ? described : getOwn(definitions, name));
  return schema['type'] === 'object' && Object.keys(recordOf(schema['properties'])).length > 0 ? schema : undefined;
}

function toBody(result: unknown): unknown {
  if (!isRecord(result) || typeof result['status'] !== 'number') return result;
  if (result['error'] !== undefined || result['truncated'] !== undefined || result['mediaType'] !== undefined)
    return result;
  return result['body'] ?? '';
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/^_/, '');
}

/**
 * The `OpenAPIToolset` for programs that were written for `@google/adk`: that of `@eventloom/openapi`, whose tools have
 * the arguments and results of the ADK, see `RestApiTool`. Requests reach the hosts of the document's servers only,
 * which may be hosts of this machine.
 *
 * @example
 * const toolset = new OpenAPIToolset({ specStr: await (await fetch('https://api.example.com/openapi.json')).text() });
 * const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', tools: [toolset] });
 */
export class AdkOpenAPIToolset extends BaseToolset {
  /** Name that errors show, as the program imports it. */
  static override readonly name: string = 'OpenAPIToolset';
  readonly #toolset: OpenAPIToolset;
  readonly #preservesNames: boolean;
  readonly #tools = new Map<BaseTool, AdkRestApiTool>();
  readonly #names = new Set<string>();
  /** The names of all tools before numbers are added to names that are taken. */
  readonly #wanted = new Set<string>();

  /**
   * @throws ConfigurationError for an unknown option, an invalid value, and a server without an absolute URL
   * @throws OpenApiDocumentError for a document that cannot be read; for YAML `getTools` rejects
   */
  constructor(given: AdkOpenAPIToolsetOptions) {
    requireOptions('OpenAPIToolset', given, 'new OpenAPIToolset({ specDict })');
    const { preservePropertyNames = false, toolFilter, ...options } = given;
    super(toolFilter, options.prefix, { name: options.name, onUnavailable: options.onUnavailable });
    this.#toolset = new OpenAPIToolset({ allowPrivateNetworkAccess: true, ...options });
    this.#preservesNames = preservePropertyNames;
  }

  /** Returns the tools of the operations in the order of the ADK. @throws OpenApiDocumentError for YAML that cannot be read */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const read = await this.#toolset.getTools();
    const operations = read.filter((tool) => tool instanceof RestApiTool);
    for (const tool of operations) this.#wanted.add(this.#wantedName(tool));
    const tools = operations.map((tool) => this.#adapt(tool));
    return tools.filter((tool) => this.isToolSelected(tool, context));
  }

  /** Does nothing: the toolset keeps no connection. */
  override async close(): Promise<void> {}

  #adapt(tool: RestApiTool): AdkRestApiTool {
    const known = this.#tools.get(tool);
    if (known) return known;
    const adapted = AdkRestApiTool.over(tool, this.#nameOf(tool), this.#preservesNames);
    this.#tools.set(tool, adapted);
    return adapted;
  }

  /** Returns the name that the ADK gives the tool; if it is taken, with a number that makes it no other tool's name. */
  #nameOf(tool: RestApiTool): string {
    const base = this.#wantedName(tool);
    let free = base;
    for (let count = 2; this.#names.has(free) || (free !== base && this.#wanted.has(free)); count++)
      free = `${base}_${count}`;
    this.#names.add(free);
    return free;
  }

  /** Returns the name that the ADK gives the tool. A name that models do not accept is that of `@eventloom/openapi`. */
  #wantedName({ name, operation }: RestApiTool): string {
    const {
      method,
      path,
      operationId = `${method.toLowerCase()}_${path.replaceAll(/[^a-zA-Z0-9]/g, '_')}`,
    } = operation;
    const wanted = this.prefixed((this.#preservesNames ? operationId : toSnakeCase(operationId)).slice(0, 60));
    return isToolName(wanted) ? wanted : name;
  }
}
