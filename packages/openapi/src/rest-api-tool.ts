import {
  type AuthConfig,
  BaseTool,
  type FunctionDeclaration,
  type MaybePromise,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import { setOwn } from '@eventloom/core/internal';
import { type ConfirmationRule, refuseUnlessConfirmed, ValueSchema } from '@eventloom/tools';
import type { RestClient, RestResponse } from './rest-client.ts';
import { addressOf, type ArgumentParameter, fillRequest, headersOf } from './build-request.ts';
import { type ApiCredentials, applyCredentials, type HeldCredential } from './credentials.ts';
import type { OpenApiDocument } from './document.ts';
import { BodyEncoder } from './encode-body.ts';
import { ApiCallError } from './errors.ts';
import { takeArgumentName } from './names.ts';
import type { ApiOperation, OperationDetails, SecurityAlternative } from './operations.ts';
import { toResult } from './read-response.ts';
import { cut, limitSize, type DeclaredSchema, type SchemaWriter } from './schema.ts';

/** A call of an operation, for `requireConfirmation`. */
export interface ApiCall {
  readonly operation: ApiOperation;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Data that all tools of a toolset share. */
interface RestApiShared {
  readonly document: OpenApiDocument;
  readonly schemas: SchemaWriter;
  readonly client: RestClient;
  readonly credentials: ApiCredentials;
  readonly headerProvider: ((context: ReadonlyContext) => MaybePromise<Readonly<Record<string, string>>>) | undefined;
  readonly requireConfirmation: ConfirmationRule<ApiCall>;
  readonly maxCharacters: number;
}

/** Parameters of a RestApiTool. */
interface RestApiToolParams {
  readonly name: string;
  readonly details: OperationDetails;
  /** The server's URL, without a trailing slash. */
  readonly baseUrl: string;
  readonly security: readonly SecurityAlternative[];
  readonly shared: RestApiShared;
}

/** Maximum length of a tool's description: some models refuse more than 1,024 characters. */
const MAX_DESCRIPTION = 1_024;
/** Maximum length of a declaration's JSON, in characters. */
const MAX_DECLARATION = 30_000;

/** Methods whose requests may be repeated without a further effect: RFC 9110, section 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/**
 * A tool that calls one operation of a REST API: see `OpenAPIToolset`, which creates it. The arguments are the
 * parameters by their names, and `body`. The result is `{ status, headers?, body }`, and for a status of 400 and above
 * also `error`.
 */
export class RestApiTool extends BaseTool {
  readonly operation: ApiOperation;
  readonly #params: RestApiToolParams;
  readonly #parameters: readonly ArgumentParameter[];
  /** The argument of the body, and its encoder; undefined for an operation without a body. */
  readonly #body: { readonly argument: string; readonly encoder: BodyEncoder } | undefined;
  readonly #schema: DeclaredSchema;
  readonly #arguments: ValueSchema;
  readonly #declaration: FunctionDeclaration;

  /**
   * Creates the tool. Called by `OpenAPIToolset`.
   * @throws OpenApiDocumentError for an operation that the document does not describe well enough
   */
  constructor(params: RestApiToolParams) {
    const { name, details } = params;
    const { operation } = details;
    super({ name, description: describe(operation), idempotent: IDEMPOTENT.has(operation.method) });
    this.operation = operation;
    this.#params = params;
    const taken = new Set<string>();
    const take = (wanted: string, place: string): string => {
      const argument = takeArgumentName(wanted, place, taken);
      taken.add(argument);
      return argument;
    };
    this.#parameters = details.parameters.map((parameter) => ({
      argument: take(parameter.name, parameter.in),
      parameter,
    }));
    this.#body = details.body && {
      argument: take('body', 'request'),
      encoder: new BodyEncoder(params.shared.document, details.body),
    };
    this.#schema = this.#describeArguments();
    this.#arguments = new ValueSchema(this.#schema, `tool "${name}": parameters`);
    this.#declaration = { name, description: this.description, parametersJsonSchema: this.#schema };
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const checked = await this.#arguments.check(args);
    if ('issues' in checked)
      return { error: `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}` };
    const { requireConfirmation } = this.#params.shared;
    const call = { operation: this.operation, args };
    const refusal = await refuseUnlessConfirmed(requireConfirmation, call, toolContext, this.name);
    if (refusal) return refusal;
    try {
      return await this.#call(args, toolContext);
    } catch (error) {
      if (ApiCallError.isInstance(error)) return { error: error.message };
      throw error;
    }
  }

  async #call(args: Readonly<Record<string, unknown>>, toolContext: ToolContext): Promise<unknown> {
    const { baseUrl, security, shared } = this.#params;
    const { credentials } = shared;
    const found = await credentials.find(security, baseUrl, toolContext);
    if ('missing' in found) return requestCredential(found.missing, toolContext);
    const { held } = found;
    let response = await this.#send(args, held, toolContext);
    const refused = response.status === 401 ? held.find(({ isOfUser }) => isOfUser) : undefined;
    // A request that is refused with 401 had no effect.
    const renewed = refused && (await credentials.renew(refused, toolContext));
    if (renewed) {
      const others = held.filter((each) => each !== refused);
      response = await this.#send(args, [...others, renewed], toolContext);
    }
    if (refused && response.status === 401 && !isAsked(refused.needed, toolContext))
      return requestCredential(await credentials.requestFor(refused.needed, toolContext), toolContext);
    return this.#toResult(response, toolContext);
  }

  async #send(
    args: Readonly<Record<string, unknown>>,
    held: readonly HeldCredential[],
    toolContext: ToolContext,
  ): Promise<RestResponse> {
    const { baseUrl, details, shared } = this.#params;
    const { client, headerProvider } = shared;
    const { method, path } = this.operation;
    const draft = fillRequest(method, baseUrl, path, this.#parameters, args);
    draft.headers['accept'] ??= acceptOf(details);
    const body = this.#body && args[this.#body.argument];
    if (this.#body && body !== undefined) {
      const { contentType, bytes } = await this.#body.encoder.encode(body, toolContext);
      draft.headers['content-type'] = contentType;
      draft.body = bytes;
    }
    Object.assign(draft.headers, toolContext.traceHeaders);
    for (const [name, value] of Object.entries((await headerProvider?.(toolContext)) ?? {}))
      setOwn(draft.headers, name.toLowerCase(), value);
    applyCredentials(draft, held);
    const request = { method, url: addressOf(draft), headers: headersOf(draft), body: draft.body };
    return client.send(request, toolContext.abortSignal);
  }

  async #toResult(response: RestResponse, toolContext: ToolContext): Promise<unknown> {
    const { details, shared } = this.#params;
    return toResult({
      response,
      describedHeaders: describedHeaders(details, response.status),
      maxCharacters: shared.maxCharacters,
      artifactName: this.name,
      toolContext,
    });
  }

  #describeArguments(): DeclaredSchema {
    const { schemas } = this.#params.shared;
    const { body } = this.#params.details;
    const properties: DeclaredSchema = {};
    const required: string[] = [];
    for (const { argument, parameter } of this.#parameters) {
      const { description, schema, isRequired } = parameter;
      setOwn<unknown>(properties, argument, withDescription(schemas.write(schema), description));
      if (isRequired) required.push(argument);
    }
    if (body && this.#body) {
      const { argument, encoder } = this.#body;
      properties[argument] = withDescription(encoder.describe(schemas), body.description);
      if (body.isRequired) required.push(argument);
    }
    const whole = {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    };
    return limitSize(schemas.finish(whole), MAX_DECLARATION);
  }
}

/**
 * Requests a credential from the user; the call runs again after the answer. A user who gave no credential is not asked again for this
 * call.
 */
function requestCredential(config: AuthConfig, toolContext: ToolContext): unknown {
  if (isAsked(config, toolContext)) return { error: 'the user gave no credential' };
  toolContext.requestCredential(config);
  return undefined;
}

function isAsked({ credentialKey }: Pick<AuthConfig, 'credentialKey'>, { requests }: ToolContext): boolean {
  return requests.some((request) => request.kind === 'credential' && request.credentialKey === credentialKey);
}

function describe({ summary, description, method, path, isDeprecated }: ApiOperation): string {
  const texts = [isDeprecated ? 'Deprecated.' : '', summary, description === summary ? '' : description];
  const text = texts.filter((each) => each.trim() !== '').join('\n\n');
  return cut(text === '' ? `${method} ${path}` : text, MAX_DESCRIPTION);
}

function withDescription(schema: DeclaredSchema, description: string): DeclaredSchema {
  return description === '' ? schema : { ...schema, description: cut(description, 500) };
}

/** Returns the media types of successful responses that the document describes. */
function acceptOf({ responses }: OperationDetails): string {
  const types = responses.flatMap(({ status, mediaTypes }) => (status.startsWith('2') ? mediaTypes : []));
  const plain = types.filter((type) => /^[\w.+*-]+\/[\w.+*-]+$/.test(type)).slice(0, 5);
  return plain.length === 0 ? 'application/json, */*;q=0.5' : [...new Set(plain), '*/*;q=0.1'].join(', ');
}

/** Returns the names of the headers that the document describes for a status. */
function describedHeaders({ responses }: OperationDetails, status: number): readonly string[] {
  const keys = [String(status), `${String(status).charAt(0)}XX`, 'DEFAULT'];
  const described = keys.map((key) => responses.find((response) => response.status === key));
  return described.find((response) => response !== undefined)?.headers ?? [];
}
