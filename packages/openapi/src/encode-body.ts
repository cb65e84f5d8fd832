import { decodeBase64, type ToolContext } from '@eventloom/core';
import { describeKind, isBase64, isRecord, joinBytes, setOwn } from '@eventloom/core/internal';
import { below, entriesBelow, type Located, type OpenApiDocument, textBelow } from './document.ts';
import { ApiCallError } from './errors.ts';
import { FORM_TYPE, JSON_TYPE, mediaTypeOf, MULTIPART_TYPE, TEXT_TYPE } from './media-types.ts';
import { type ApiBody, readStyle } from './operations.ts';
import type { DeclaredSchema, SchemaWriter } from './schema.ts';
import { type ParameterForm, textOf, writePairs } from './serialize-parameter.ts';

/** A body that is ready to be sent. */
interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The name, the type and the content of a file that a model names in an argument. */
interface NamedFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Maximum depth of nested `allOf` in which the properties of a form are looked up. */
const MAX_INHERITED = 20;

/** The schema of an argument for a file. */
const FILE_SCHEMA: DeclaredSchema = {
  type: 'object',
  description: 'A file: give one of artifact, text and base64.',
  properties: {
    artifact: { type: 'string', description: 'Name of an artifact of the session.' },
    text: { type: 'string' },
    base64: { type: 'string' },
    mimeType: { type: 'string' },
    filename: { type: 'string' },
  },
  additionalProperties: false,
};

/** Converts the argument of a body to bytes. The document determines the media type; see `ApiBody`. */
export class BodyEncoder {
  readonly #body: ApiBody;
  /** Properties of a multipart form that are files. */
  readonly #files: ReadonlySet<string>;
  /** The styles of those properties of the form that have their own style or media type. */
  readonly #encodings: ReadonlyMap<string, PropertyEncoding>;

  /** @throws OpenApiDocumentError */
  constructor(document: OpenApiDocument, body: ApiBody) {
    this.#body = body;
    this.#files = MULTIPART_TYPE.test(body.mediaType) ? filesOf(document, body.schema, 0) : new Set();
    this.#encodings = new Map(
      entriesBelow(body.encoding).map(([name, held]) => [name, readEncoding(name, document.followToRecord(held))]),
    );
  }

  /**
   * Returns the schema of the argument. For text and files it differs from that of the document.
   *
   * @throws OpenApiDocumentError
   */
  describe(schemas: SchemaWriter): DeclaredSchema {
    const { mediaType, schema } = this.#body;
    if (MULTIPART_TYPE.test(mediaType)) return this.#describeForm(schemas.resolve(schemas.write(schema)));
    if (JSON_TYPE.test(mediaType) || mediaType === FORM_TYPE) return schemas.write(schema);
    const type = mediaType.replaceAll(/[^\w.+/*-]/g, '');
    if (TEXT_TYPE.test(mediaType)) return { type: 'string', description: `Text of the type ${type}.` };
    return { ...FILE_SCHEMA, description: `${String(FILE_SCHEMA['description'])} Its type is ${type}.` };
  }

  /**
   * Encodes a body. Loads the artifacts that it names.
   *
   * @throws ApiCallError for a value that the media type cannot represent
   */
  async encode(value: unknown, toolContext: ToolContext): Promise<EncodedBody> {
    const { mediaType } = this.#body;
    if (JSON_TYPE.test(mediaType)) return { contentType: mediaType, bytes: toBytes(JSON.stringify(value)) };
    if (mediaType === FORM_TYPE)
      return { contentType: FORM_TYPE, bytes: toBytes(this.#encodeForm(fieldsOf(value)).join('&')) };
    if (MULTIPART_TYPE.test(mediaType)) return this.#encodeMultipart(fieldsOf(value), toolContext);
    if (TEXT_TYPE.test(mediaType)) {
      const contentType = mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;
      return { contentType, bytes: toBytes(textOf(value)) };
    }
    const { mimeType, bytes } = await loadFile(value, 'body', toolContext);
    return { contentType: mediaType.includes('*') ? mimeType : mediaType, bytes };
  }

  #describeForm(schema: DeclaredSchema): DeclaredSchema {
    const { properties } = schema;
    if (!isRecord(properties)) return schema;
    const described: DeclaredSchema = { ...properties };
    for (const name of this.#files) {
      const { type, description } = isRecord(properties[name]) ? properties[name] : {};
      const file = { ...FILE_SCHEMA, ...(typeof description === 'string' && { description }) };
      setOwn<unknown>(described, name, type === 'array' ? { type, items: FILE_SCHEMA } : file);
    }
    return { ...schema, properties: described };
  }

  #encodeForm(fields: Readonly<Record<string, unknown>>): string[] {
    return Object.entries(fields).flatMap(([name, value]) => {
      const encoding = this.#encodings.get(name);
      const isJson = encoding?.form ? encoding.form.style === 'json' : isRecord(value);
      return writePairs(isJson ? { ...plainForm(name), style: 'json' } : (encoding?.form ?? plainForm(name)), value);
    });
  }

  async #encodeMultipart(fields: Readonly<Record<string, unknown>>, toolContext: ToolContext): Promise<EncodedBody> {
    const boundary = `eventloom-${toolContext.invocationContext.platform.newUuid()}`;
    const pieces: Uint8Array[] = [];
    const add = (name: string, contentType: string | undefined, bytes: Uint8Array, filename?: string): void => {
      const lines = [
        `--${boundary}`,
        `Content-Disposition: form-data; name="${quoted(name)}"${filename === undefined ? '' : `; filename="${quoted(filename)}"`}`,
        ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
      ];
      pieces.push(toBytes(`${lines.join('\r\n')}\r\n\r\n`), bytes, toBytes('\r\n'));
    };
    for (const [name, value] of Object.entries(fields)) {
      const own = this.#encodings.get(name)?.contentType;
      for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (item === null || item === undefined) continue;
        if (this.#files.has(name)) {
          const { filename, mimeType, bytes } = await loadFile(item, name, toolContext);
          add(name, own ?? mimeType, bytes, filename);
        } else add(name, own ?? (typeof item === 'object' ? 'application/json' : undefined), toBytes(textOf(item)));
      }
    }
    pieces.push(toBytes(`--${boundary}--\r\n`));
    return { contentType: `${this.#body.mediaType}; boundary=${boundary}`, bytes: joinBytes(pieces) };
  }
}

/** The form of one property in the document. */
interface PropertyEncoding {
  /** Undefined for a property with the default form. */
  readonly form: ParameterForm | undefined;
  readonly contentType: string | undefined;
}

function readEncoding(name: string, at: Located): PropertyEncoding {
  const given = textBelow(at, 'contentType')?.split(',', 1)[0];
  const contentType = given !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(given.trim()) ? mediaTypeOf(given) : undefined;
  const [style, explode] = [below(at, 'style'), below(at, 'explode').value];
  if (style.value === undefined && explode === undefined) {
    const isJson = contentType !== undefined && JSON_TYPE.test(contentType);
    return { form: isJson ? { ...plainForm(name), style: 'json' } : undefined, contentType };
  }
  const read = readStyle(style, 'query');
  const isExploded = typeof explode === 'boolean' ? explode : read === 'form' || read === 'deepObject';
  const allowReserved = below(at, 'allowReserved').value === true;
  return { form: { name, style: read, explode: isExploded, allowReserved }, contentType };
}

function plainForm(name: string): ParameterForm {
  return { name, style: 'form', explode: true, allowReserved: false };
}

/** Returns the names of the properties that are files or lists of files, including those in the members of `allOf`. */
function filesOf(document: OpenApiDocument, schema: Located, depth: number): Set<string> {
  const files = new Set<string>();
  if (schema.value === undefined || depth > MAX_INHERITED) return files;
  const at = document.follow(schema);
  const properties = below(at, 'properties');
  for (const name of isRecord(properties.value) ? Object.keys(properties.value) : []) {
    const property = document.follow(below(properties, name));
    const items = below(property, 'items');
    if (isFile(property.value) || (items.value !== undefined && isFile(document.follow(items).value))) files.add(name);
  }
  const all = below(at, 'allOf');
  for (const index of Array.isArray(all.value) ? all.value.keys() : [])
    for (const name of filesOf(document, below(all, index), depth + 1)) files.add(name);
  return files;
}

/** True for the schema of a file: `format: binary` in version 3.0, a media type without an encoding in version 3.1. */
function isFile(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { format, contentMediaType, contentEncoding } = schema;
  return format === 'binary' || (typeof contentMediaType === 'string' && contentEncoding === undefined);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value;
  throw new ApiCallError(`the body is a form: expected an object of its fields, got ${describeKind(value)}`);
}

async function loadFile(value: unknown, name: string, toolContext: ToolContext): Promise<NamedFile> {
  const { artifact, text, base64, mimeType, filename } = isRecord(value) ? value : {};
  const given = [artifact, text, base64].filter((each) => typeof each === 'string');
  if (given.length !== 1) throw new ApiCallError(`${name}: expected a file; write either artifact, text or base64`);
  const typed = (own: string): string =>
    typeof mimeType === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : own;
  const named = (own: string): string => (typeof filename === 'string' && filename !== '' ? filename : own);
  if (typeof text === 'string') return { filename: named(name), mimeType: typed('text/plain'), bytes: toBytes(text) };
  if (typeof base64 === 'string') {
    if (!isBase64(base64))
      throw new ApiCallError(`${name}: base64: expected base64 text; write a text that is not base64 as text`);
    return { filename: named(name), mimeType: typed('application/octet-stream'), bytes: decodeBase64(base64) };
  }
  const part = await toolContext.loadArtifact(String(artifact));
  if (!part) throw new ApiCallError(`${name}: there is no artifact ${JSON.stringify(artifact)}`);
  const own = named(
    String(artifact)
      .split('/')
      .at(-1)
      ?.replace(/^user:/, '') ?? name,
  );
  if (part.text !== undefined) return { filename: own, mimeType: typed('text/plain'), bytes: toBytes(part.text) };
  if (part.inlineData?.data === undefined)
    throw new ApiCallError(
      `${name}: the artifact ${JSON.stringify(artifact)} is only an address of a file; give one of its text and base64`,
    );
  const { data, mimeType: stored = 'application/octet-stream' } = part.inlineData;
  return { filename: own, mimeType: typed(stored), bytes: decodeBase64(data) };
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Escapes a name as browsers do. */
function quoted(name: string): string {
  return name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
