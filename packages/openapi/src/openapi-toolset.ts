import {
  type AuthConfig,
  type AuthCredential,
  type BaseTool,
  BaseToolset,
  type BaseToolsetOptions,
  ConfigurationError,
  type MaybePromise,
  type ReadonlyContext,
  type ToolPredicate,
} from '@eventloom/core';
import { checkOptions, integer, isRecord, type OptionRules, wrongOption } from '@eventloom/core/internal';
import type { ConfirmationRule } from '@eventloom/tools';
import { RestClient } from './rest-client.ts';
import { fillServer } from './build-request.ts';
import { ApiCredentials, isScheme } from './credentials.ts';
import {
  below,
  looksLikeJson,
  type LocatedRecord,
  OpenApiDocument,
  parseJsonDocument,
  parseYamlDocument,
} from './document.ts';
import { OpenApiDocumentError } from './errors.ts';
import { takeToolName } from './names.ts';
import { OAuth2Client } from './oauth2.ts';
import {
  type ApiOperation,
  listOperations,
  type LocatedOperation,
  readDetails,
  type SecurityAlternative,
} from './operations.ts';
import { type ApiCall, RestApiTool } from './rest-api-tool.ts';
import { SchemaWriter } from './schema.ts';

/** Options of an `OpenAPIToolset`. One of `specDict` and `specStr` is required. */
export interface OpenAPIToolsetOptions extends BaseToolsetOptions {
  /** The document as an object. The toolset does not change it. */
  readonly specDict?: object | undefined;
  /** The document as text. YAML needs the package `yaml`. */
  readonly specStr?: string | undefined;
  /** Format of `specStr`. Default: `json` for text that starts with a brace, otherwise `yaml`. */
  readonly specType?: 'json' | 'yaml' | undefined;
  /** URL of the API. It replaces the servers of the document. Required for a document whose server is missing or relative. */
  readonly baseUrl?: string | undefined;
  /** Values of variables in the server's URL. Default: the defaults of the document. */
  readonly serverVariables?: Readonly<Record<string, string>> | undefined;
  /** Selects the operations with at least one of these tags. Default: all. */
  readonly tags?: readonly string[] | undefined;
  /** Selects operations: a list with the `operationId` or the method and path (`GET /pets`) of each, or a function. Default: all. */
  readonly operations?: readonly string[] | ((operation: ApiOperation) => boolean) | undefined;
  /** Selects tools by their names, or with a function for each run. Default: all. */
  readonly toolFilter?: ToolPredicate | readonly string[] | undefined;
  /** Text before the names of the tools, with `_`. */
  readonly prefix?: string | undefined;
  /** Security scheme of all operations, as in OpenAPI. Default: those of the document. */
  readonly authScheme?: AuthConfig['authScheme'] | undefined;
  /**
   * The app's own credential, for all users: an API key, a token, a user name and a password, or an OAuth client.
   * Default: each user is asked for a credential, which the runner's `credentialService` stores.
   */
  readonly authCredential?: AuthCredential | undefined;
  /**
   * Key that the user's credential is stored under. Default: made from the API's host and the name of the security scheme. If a requirement
   * has several schemes, the name of the scheme is appended.
   */
  readonly credentialKey?: string | undefined;
  /** Returns headers for each request. They are not shown to the model. */
  readonly headerProvider?: ((context: ReadonlyContext) => MaybePromise<Readonly<Record<string, string>>>) | undefined;
  /** Hosts that requests and redirects may reach, with the port if the URL has one. Default: the hosts of the servers. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** True lets requests reach this machine and internal networks. Default false. */
  readonly allowPrivateNetworkAccess?: boolean | undefined;
  /** True asks a person before each call; a function decides for each call. Default false. */
  readonly requireConfirmation?: ConfirmationRule<ApiCall> | undefined;
  /** Time for a response with all redirects, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum length of text and JSON for the model, in characters; longer bodies are truncated. Default 100,000. */
  readonly maxCharacters?: number | undefined;
  /** Maximum size of a response's body, in bytes, at most 7,500,000; the rest is not read. Default 5,000,000. */
  readonly maxBytes?: number | undefined;
  /** Maximum length of `specStr`, in characters. Default 8,000,000. */
  readonly maxDocumentCharacters?: number | undefined;
}

/** Maximum of `maxBytes`, because a tool result can have 10 MiB of base64. */
const MAX_BYTES = 7_500_000;
const API_URL = "'https://api.example.com/v1'";
const AUTH_SCHEME = "{ type: 'http', scheme: 'bearer' }";
const OPTIONS: OptionRules<OpenAPIToolsetOptions> = {
  specDict: 'object',
  specStr: { is: 'text', wanted: 'JSON or YAML text', write: "await readFile(file, 'utf8'), or specDict: the object" },
  specType: { is: 'text', oneOf: ['json', 'yaml'] },
  baseUrl: { is: 'text', write: API_URL },
  serverVariables: 'object',
  tags: 'list',
  operations: 'list or function',
  toolFilter: 'function or list',
  prefix: 'text',
  authScheme: { is: 'object', write: AUTH_SCHEME },
  authCredential: 'object',
  credentialKey: 'text',
  headerProvider: 'function',
  allowedHosts: 'list',
  allowPrivateNetworkAccess: 'flag',
  requireConfirmation: 'flag or function',
  timeoutMs: integer(1, 2 ** 31 - 1),
  maxCharacters: integer(1),
  maxBytes: integer(1, MAX_BYTES),
  maxDocumentCharacters: integer(1),
  name: 'text',
  onUnavailable: 'text',
};
const WRITE_SPEC = 'write specDict: an object, or specStr: JSON or YAML text';
const HINTS = {
  spec: WRITE_SPEC,
  document: WRITE_SPEC,
  url: WRITE_SPEC,
  preservePropertyNames: 'leave it out: arguments keep the names of the document',
  toolNamePrefix: 'did you mean "prefix"?',
};

/**
 * Offers the operations of a REST API as tools, from its OpenAPI document of version 3.0 or 3.1. Each operation becomes a `RestApiTool`,
 * named after its `operationId` in snake case (at most 60 characters), or after its method and path.
 *
 * A document as an object or as JSON is read by the constructor; YAML is read when the tools are first listed. The declaration of a tool
 * contains only those parts of the document that its operation needs. GET, HEAD, OPTIONS, PUT and DELETE are idempotent (RFC 9110): a
 * resumed run repeats them.
 *
 * Requests, also after redirects, reach only the hosts of the servers and no internal addresses, unless the options allow more.
 *
 * @example
 * const specDict = await (await fetch('https://api.example.com/openapi.json')).json();
 * const toolset = new OpenAPIToolset({ specDict, tags: ['pets'], baseUrl: 'https://api.example.com' });
 * const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', tools: [toolset] });
 */
export class OpenAPIToolset extends BaseToolset {
  readonly #options: OpenAPIToolsetOptions;
  #tools: Promise<readonly RestApiTool[]> | undefined;

  /**
   * @throws ConfigurationError for an unknown option, a value that cannot work, and a server without an absolute URL
   * @throws OpenApiDocumentError for a document that cannot be read; for YAML `getTools` rejects
   */
  constructor(options: OpenAPIToolsetOptions) {
    checkOptions('OpenAPIToolset', OPTIONS, options, HINTS, 'new OpenAPIToolset({ specDict })');
    const { name, onUnavailable, toolFilter, prefix } = options;
    super(toolFilter, prefix, { name, onUnavailable });
    checkToolsetOptions(options);
    this.#options = options;
    const document = readAtOnce(options);
    if (document) this.#tools = Promise.resolve(this.#createTools(document));
  }

  /**
   * Returns the tools of the selected operations in the order of the document's paths, and those of a path by their
   * method, as in the ADK: get, post, put, delete, patch, head, options.
   * @throws OpenApiDocumentError for YAML that cannot be read
   */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = await this.#load();
    return tools.filter((tool) => this.isToolSelected(tool, context));
  }

  /** Returns the tool with this name; undefined if there is none. */
  async getTool(name: string): Promise<RestApiTool | undefined> {
    const tools = await this.#load();
    return tools.find((tool) => tool.name === name);
  }

  /** Does nothing: the toolset keeps no connection. */
  override async close(): Promise<void> {}

  #load(): Promise<readonly RestApiTool[]> {
    // After a failure the text is read again, because a missing package may have been installed.
    return (this.#tools ??= parseYamlDocument(this.#options.specStr ?? '')
      .then((document) => this.#createTools(document))
      .catch((error: unknown) => {
        this.#tools = undefined;
        throw error;
      }));
  }

  #createTools(document: OpenApiDocument): readonly RestApiTool[] {
    const options = this.#options;
    const taken = new Set<string>();
    const named = listOperations(document).map((located) => ({
      located,
      // Names are given before the selection, so that the selection does not change them.
      name: takeToolName(idOf(located.operation), this.prefix ?? '', taken),
    }));
    const selected = selectOperations(named, options);
    const prepared = selected.map(({ name, located }) => {
      const details = readDetails(document, located);
      return { name, details, baseUrl: baseUrlOf(options, details.server) };
    });
    const { allowedHosts, timeoutMs = 30_000 } = options;
    const clientFor = (hosts: readonly string[]): RestClient =>
      new RestClient({
        allowedHosts: new Set(hosts.map((host) => host.toLowerCase())),
        allowsPrivateNetwork: options.allowPrivateNetworkAccess === true,
        maxBytes: options.maxBytes ?? 5_000_000,
        timeoutMs,
      });
    const oauth2 = new OAuth2Client((url) => clientFor(allowedHosts ?? [new URL(url).host]));
    const { authCredential, credentialKey, headerProvider, requireConfirmation = false } = options;
    const shared = {
      document,
      schemas: new SchemaWriter(document),
      client: clientFor(allowedHosts ?? prepared.map(({ baseUrl }) => new URL(baseUrl).host)),
      credentials: new ApiCredentials({ authCredential, credentialKey }, oauth2),
      headerProvider,
      requireConfirmation,
      maxCharacters: options.maxCharacters ?? 100_000,
    };
    const own = ownSecurity(options);
    return prepared.map(
      ({ name, details, baseUrl }) =>
        new RestApiTool({ name, details, baseUrl, security: own ?? details.security, shared }),
    );
  }
}

function idOf({ operationId, method, path }: ApiOperation): string {
  return operationId ?? `${method}_${path}`;
}

function checkToolsetOptions(options: OpenAPIToolsetOptions): void {
  const owner = 'OpenAPIToolset';
  const { specDict, specStr, baseUrl, authScheme, maxDocumentCharacters = 8_000_000 } = options;
  const fail = (message: string): never => {
    throw new ConfigurationError(`${owner}: ${message}`);
  };
  if (specDict === undefined && specStr === undefined) fail(`the document is missing; ${WRITE_SPEC}`);
  if (specDict !== undefined && specStr !== undefined) fail('has specDict and specStr; remove one of them');
  if (baseUrl !== undefined && !isHttpUrl(baseUrl))
    fail(
      `baseUrl: expected a URL with http: or https: and without a query, got ${JSON.stringify(baseUrl.slice(0, 200))}; write baseUrl: ${API_URL}`,
    );
  if (authScheme !== undefined && !isScheme(authScheme))
    throw wrongOption(owner, 'authScheme', 'a security scheme of OpenAPI', authScheme, AUTH_SCHEME);
  if (specStr !== undefined && specStr.length > maxDocumentCharacters)
    throw new OpenApiDocumentError(
      '#',
      `has ${specStr.length} characters; at most ${maxDocumentCharacters} are read; write maxDocumentCharacters: ${specStr.length} to read it`,
    );
}

function isHttpUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, search, hash } = new URL(url);
  return (protocol === 'http:' || protocol === 'https:') && search === '' && hash === '';
}

/** Returns the document, or undefined if it is YAML. */
function readAtOnce({ specDict, specStr = '', specType }: OpenAPIToolsetOptions): OpenApiDocument | undefined {
  if (specDict !== undefined) return new OpenApiDocument(specDict);
  const isJson = specType === undefined ? looksLikeJson(specStr) : specType === 'json';
  return isJson ? parseJsonDocument(specStr) : undefined;
}

/** An operation and the name of its tool. */
interface NamedOperation {
  readonly name: string;
  readonly located: LocatedOperation;
}

function selectOperations(
  all: readonly NamedOperation[],
  { tags, operations }: OpenAPIToolsetOptions,
): readonly NamedOperation[] {
  const matches = (given: string, { operationId, method, path }: ApiOperation): boolean =>
    given === operationId || given === `${method} ${path}`;
  const unknownTag = tags?.find((tag) => !all.some(({ located }) => located.operation.tags.includes(tag)));
  if (unknownTag !== undefined) {
    const known = [...new Set(all.flatMap(({ located }) => located.operation.tags))].join(', ').slice(0, 200);
    throw new ConfigurationError(
      `OpenAPIToolset: tags: no operation of the document has the tag ${JSON.stringify(unknownTag)}; ${known === '' ? 'no operation has a tag, so leave tags out' : `the tags are: ${known}`}`,
    );
  }
  const list = typeof operations === 'function' ? undefined : operations;
  const unknown = list?.find((given) => !all.some(({ located }) => matches(given, located.operation)));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `OpenAPIToolset: operations: the document has no operation ${JSON.stringify(unknown)}; write an operationId, or a method and a path as in "GET /pets"`,
    );
  return all.filter(({ located: { operation } }) => {
    if (tags && !operation.tags.some((tag) => tags.includes(tag))) return false;
    if (typeof operations === 'function') return operations(operation);
    return !list || list.some((given) => matches(given, operation));
  });
}

function baseUrlOf(
  { baseUrl, serverVariables = {} }: OpenAPIToolsetOptions,
  server: LocatedRecord | undefined,
): string {
  if (baseUrl !== undefined) return baseUrl.replace(/\/$/, '');
  const template = server?.value['url'];
  if (!server || typeof template !== 'string')
    throw new ConfigurationError(`OpenAPIToolset: the document names no server; write baseUrl: ${API_URL}`);
  const variables = below(server, 'variables').value;
  const url = fillServer(template, isRecord(variables) ? variables : {}, serverVariables);
  if (!isHttpUrl(url) || /[{}]/.test(url))
    throw new ConfigurationError(
      `OpenAPIToolset: the server ${JSON.stringify(url.slice(0, 200))} of the document (${server.pointer}) is not a URL with a host; write baseUrl: ${API_URL}, or serverVariables for the names in braces`,
    );
  return url.replace(/\/$/, '');
}

/** Returns the requirement of the options' scheme; undefined without one. */
function ownSecurity({ authScheme }: OpenAPIToolsetOptions): readonly SecurityAlternative[] | undefined {
  if (!authScheme) return undefined;
  return [[{ name: authScheme.type, scheme: { value: authScheme, pointer: '#' }, scopes: [] }]];
}
