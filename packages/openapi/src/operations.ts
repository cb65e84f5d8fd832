import { describeKind } from '@eventloom/core/internal';
import {
  below,
  entriesBelow,
  itemsBelow,
  type Located,
  type LocatedRecord,
  type OpenApiDocument,
  shown,
  textBelow,
} from './document.ts';
import { OpenApiDocumentError } from './errors.ts';
import { mediaTypeOf } from './media-types.ts';

/** An operation of an OpenAPI document: one method of one path. */
export interface ApiOperation {
  /** Undefined if the document gives none. */
  readonly operationId: string | undefined;
  /** Method in upper case: `GET`. */
  readonly method: string;
  /** Path with its templates: `/pets/{petId}`. */
  readonly path: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly isDeprecated: boolean;
}

/** Style of a parameter: the way in which a list or an object is written as text. */
export type ParameterStyle =
  | 'simple'
  | 'label'
  | 'matrix'
  | 'form'
  | 'spaceDelimited'
  | 'pipeDelimited'
  | 'deepObject'
  /** JSON text, for parameters with `content`. */
  | 'json';

/** Place of a parameter in the request. */
export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

/** A parameter of an operation, as the document describes it. */
export interface ApiParameter {
  readonly name: string;
  readonly in: ParameterPlace;
  readonly style: ParameterStyle;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  readonly isRequired: boolean;
  readonly description: string;
  readonly schema: Located;
}

/** The body of an operation's request, in one of its media types. */
export interface ApiBody {
  /** Media type in lower case, without parameters: `application/json`. */
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly schema: Located;
  /** Styles and media types of the properties of a form. */
  readonly encoding: Located;
}

/** An operation with all data that a call needs. */
export interface OperationDetails {
  readonly operation: ApiOperation;
  readonly parameters: readonly ApiParameter[];
  readonly body: ApiBody | undefined;
  /** The server of the operation, with the template of its URL; undefined if there is none. */
  readonly server: LocatedRecord | undefined;
  /** Alternatives, each a list of schemes that are needed together. */
  readonly security: readonly SecurityAlternative[];
  readonly responses: readonly DescribedResponse[];
}

/** A response as the document describes it. */
interface DescribedResponse {
  /** A status or a range: `200`, `2XX`, `default`. */
  readonly status: string;
  readonly mediaTypes: readonly string[];
  readonly headers: readonly string[];
}

/** Security schemes that a request needs together. Empty: none is needed. */
export type SecurityAlternative = readonly RequiredScheme[];

/** A security scheme of the document, by its name there. */
export interface RequiredScheme {
  readonly name: string;
  readonly scheme: LocatedRecord;
  readonly scopes: readonly string[];
}

/** An operation with its position in the document. */
export interface LocatedOperation {
  readonly operation: ApiOperation;
  readonly at: LocatedRecord;
  readonly pathItem: LocatedRecord;
}

/** The methods of a path item that `fetch` can send, in the order of the ADK. `trace` is not one of them. */
const METHODS = ['get', 'post', 'put', 'delete', 'patch', 'head', 'options'];

/**
 * Lists the operations in the order of the document's paths, and those of a path by their method: get, post, put,
 * delete, patch, head, options.
 *
 * @throws OpenApiDocumentError for a path that does not begin with a slash, a malformed operation, and a repeated
 * `operationId`
 */
export function listOperations(document: OpenApiDocument): LocatedOperation[] {
  const found: LocatedOperation[] = [];
  const ids = new Map<string, string>();
  for (const [path, item] of entriesBelow(below(document.root, 'paths'))) {
    if (path.startsWith('x-')) continue;
    if (!path.startsWith('/'))
      throw new OpenApiDocumentError(
        item.pointer,
        'expected a path that begins with a slash; write /pets in place of pets',
      );
    if (path.split('/').some((segment) => segment === '.' || segment === '..'))
      throw new OpenApiDocumentError(
        item.pointer,
        'the path has a segment . or .., which can lead out of the path of the server; remove the segment',
      );
    const pathItem = document.followToRecord(item);
    for (const method of METHODS) {
      const held = below(pathItem, method);
      if (held.value === undefined) continue;
      const at = document.followToRecord(held);
      const operation = readOperation(at, method, path);
      const { operationId } = operation;
      if (operationId !== undefined) {
        const pointer = `${at.pointer}/operationId`;
        const other = ids.get(operationId);
        if (other !== undefined)
          throw new OpenApiDocumentError(
            pointer,
            `${JSON.stringify(operationId.slice(0, 100))} is the id of ${other} too; give each operation its own id`,
          );
        ids.set(operationId, pointer);
      }
      found.push({ operation, at, pathItem });
    }
  }
  return found;
}

function readOperation(at: LocatedRecord, method: string, path: string): ApiOperation {
  return {
    operationId: textBelow(at, 'operationId') || undefined,
    method: method.toUpperCase(),
    path,
    tags: itemsBelow(below(at, 'tags')).flatMap(({ value }) => (typeof value === 'string' ? [value] : [])),
    summary: textBelow(at, 'summary') ?? '',
    description: textBelow(at, 'description') ?? '',
    isDeprecated: at.value['deprecated'] === true,
  };
}

/**
 * Reads all data that a call of an operation needs.
 *
 * @throws OpenApiDocumentError
 */
export function readDetails(
  document: OpenApiDocument,
  { operation, at, pathItem }: LocatedOperation,
): OperationDetails {
  return {
    operation,
    parameters: readParameters(document, operation.path, pathItem, at),
    body: readBody(document, below(at, 'requestBody')),
    server: readServer(document, [at, pathItem, document.root]),
    security: readSecurity(document, at),
    responses: readResponses(document, at),
  };
}

const PLACES: ReadonlySet<unknown> = new Set(['path', 'query', 'header', 'cookie']);

/** Headers that parameters cannot set: OpenAPI has other ways for the first three, and the runtime sets the others. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(
  'accept authorization content-type connection content-length expect host keep-alive te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

function readParameters(
  document: OpenApiDocument,
  path: string,
  pathItem: LocatedRecord,
  at: LocatedRecord,
): readonly ApiParameter[] {
  const templates = new Set(Array.from(path.matchAll(/\{([^{}]*)\}/g), ([, name = '']) => name));
  const byKey = new Map<string, ApiParameter>();
  // A parameter of the operation replaces that of the path. The parameters of the operation come first, as in the ADK.
  for (const list of [at, pathItem])
    for (const item of itemsBelow(below(list, 'parameters'))) {
      const parameter = readParameter(document, document.followToRecord(item));
      if (parameter.in === 'path' && !templates.has(parameter.name)) continue;
      if (parameter.in === 'header' && IGNORED_HEADERS.has(parameter.name.toLowerCase())) continue;
      const key = `${parameter.in} ${parameter.name}`;
      if (!byKey.has(key)) byKey.set(key, parameter);
    }
  // Some documents omit the parameter of a template.
  for (const name of templates)
    if (!byKey.has(`path ${name}`))
      byKey.set(`path ${name}`, {
        name,
        in: 'path',
        style: 'simple',
        explode: false,
        allowReserved: false,
        isRequired: true,
        description: '',
        schema: { value: { type: 'string' }, pointer: at.pointer },
      });
  return [...byKey.values()];
}

function readParameter(document: OpenApiDocument, at: LocatedRecord): ApiParameter {
  const name = textBelow(at, 'name');
  const place = at.value['in'];
  if (name === undefined) throw new OpenApiDocumentError(`${at.pointer}/name`, 'the parameter has no name; write name');
  if (!isPlace(place))
    throw new OpenApiDocumentError(`${at.pointer}/in`, `expected path, query, header or cookie, got ${shown(place)}`);
  const [content] = entriesBelow(below(at, 'content'));
  const style = content ? 'json' : readStyle(below(at, 'style'), place);
  const { explode } = at.value;
  return {
    name,
    in: place,
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form' || style === 'deepObject',
    allowReserved: at.value['allowReserved'] === true,
    isRequired: place === 'path' || at.value['required'] === true,
    description: textBelow(at, 'description') ?? '',
    schema: content ? below(document.followToRecord(content[1]), 'schema') : below(at, 'schema'),
  };
}

function isPlace(place: unknown): place is ParameterPlace {
  return PLACES.has(place);
}

/** The styles of each place; the first is the default. */
const STYLES: Readonly<Record<ParameterPlace, readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};

/** Reads the style of a parameter, or of a property of a form, which has the styles of a query. @throws OpenApiDocumentError */
export function readStyle(at: Located, place: ParameterPlace): ParameterStyle {
  const styles = STYLES[place];
  const style = at.value === undefined ? styles[0] : styles.find((each) => each === at.value);
  if (style !== undefined) return style;
  throw new OpenApiDocumentError(at.pointer, `expected ${styles.join(', ')} in ${place}, got ${shown(at.value)}`);
}

/** Media types of bodies in the order of preference; other types come last. */
const PREFERRED: readonly RegExp[] = [
  /^application\/json$/,
  /\+json$/,
  /^application\/x-www-form-urlencoded$/,
  /^multipart\/form-data$/,
  /^text\//,
];

/** The media types that are sent in place of ranges in a document. For other ranges the file determines the type. */
const RANGES: ReadonlyMap<string, string> = new Map([
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['text/*', 'text/plain'],
  ['multipart/*', 'multipart/form-data'],
]);

function readBody(document: OpenApiDocument, held: Located): ApiBody | undefined {
  if (held.value === undefined) return undefined;
  const at = document.followToRecord(held);
  const contents = entriesBelow(below(at, 'content')).map(([key, located]) => ({
    mediaType: mediaTypeOf(key),
    located,
  }));
  const rank = (mediaType: string): number => {
    const index = PREFERRED.findIndex((pattern) => pattern.test(mediaType));
    return index === -1 ? PREFERRED.length : index;
  };
  const [chosen] = contents.toSorted((one, other) => rank(one.mediaType) - rank(other.mediaType));
  if (!chosen) return undefined;
  const media = document.followToRecord(chosen.located);
  return {
    // For a range, the caller chooses the type.
    mediaType: RANGES.get(chosen.mediaType) ?? chosen.mediaType,
    isRequired: at.value['required'] === true,
    description: textBelow(at, 'description') ?? '',
    schema: below(media, 'schema'),
    encoding: below(media, 'encoding'),
  };
}

function readServer(document: OpenApiDocument, holders: readonly LocatedRecord[]): LocatedRecord | undefined {
  for (const holder of holders) {
    const [server] = itemsBelow(below(holder, 'servers'));
    if (server) return document.followToRecord(server);
  }
  return undefined;
}

function readResponses(document: OpenApiDocument, at: LocatedRecord): readonly DescribedResponse[] {
  return entriesBelow(below(at, 'responses')).flatMap(([status, held]) => {
    if (status.startsWith('x-')) return [];
    const response = document.followToRecord(held);
    const namesOf = (key: string): string[] => entriesBelow(below(response, key)).map(([name]) => name);
    return [{ status: status.toUpperCase(), mediaTypes: namesOf('content'), headers: namesOf('headers') }];
  });
}

function readSecurity(document: OpenApiDocument, at: LocatedRecord): readonly SecurityAlternative[] {
  const own = below(at, 'security');
  const list = own.value === undefined ? below(document.root, 'security') : own;
  const schemes = below(below(document.root, 'components'), 'securitySchemes');
  return itemsBelow(list).map((alternative) =>
    entriesBelow(alternative).map(([name, scopes]) => {
      const scheme = below(schemes, name);
      if (scheme.value === undefined)
        throw new OpenApiDocumentError(
          scopes.pointer,
          `the security scheme ${JSON.stringify(name)} is not in components; declare it in components.securitySchemes`,
        );
      return {
        name,
        scheme: readScheme(document, scheme),
        scopes: itemsBelow(scopes).flatMap(({ value }) => (typeof value === 'string' ? [value] : [])),
      };
    }),
  );
}

function readScheme(document: OpenApiDocument, held: Located): LocatedRecord {
  const scheme = document.followToRecord(held);
  const { type } = scheme.value;
  if (typeof type === 'string') return scheme;
  throw new OpenApiDocumentError(
    `${scheme.pointer}/type`,
    `expected a string such as http or apiKey, got ${describeKind(type)}`,
  );
}
