import { checkOptions, type OptionRules } from '../agent/options.ts';
import { isBase64 } from '../content/bytes.ts';
import type { FunctionResponsePart, Part, Content } from '../content/content.ts';
import { sealJson } from '../content/copy-json.ts';
import { describeKind, isRecord } from '../content/json.ts';
import { InvalidEventError, SizeLimitError } from '../errors.ts';
import { acceptsMedia, type ModelCapabilities } from '../model/capabilities.ts';

/** Maximum number of parts of one result. */
const MAX_PARTS = 16;
/** Maximum size of all parts of one result together, in characters of base64: 7.5 MiB of data. */
const MAX_DATA_CHARACTERS = 10_485_760;

const BRAND: unique symbol = Symbol.for('eventloom.toolResult') as never;

/** The parameters of `toolResult`. */
export interface ToolResultParams {
  /** The response that the model and the callbacks read. */
  readonly response: Readonly<Record<string, unknown>>;
  /** Media: at most 16 parts, each with `inlineData` or `fileData`, with at most 10 MiB of base64 together. Default: none. */
  readonly parts?: readonly Part[] | undefined;
}

/** A tool result with media: see `toolResult`. A type and not an interface, so that it is assignable to `Record<string, unknown>`. */
export type ToolResult = {
  readonly [BRAND]: true;
  readonly response: Readonly<Record<string, unknown>>;
  readonly parts: readonly FunctionResponsePart[];
};

const PARAMS: OptionRules<ToolResultParams> = {
  // Checked below, with an error that has the path of the field.
  response: 'any',
  parts: 'list',
};

/**
 * Creates the result of a tool that has images, documents or recordings for the model, beside the JSON of `response`. The tool returns it.
 *
 * The parts are stored in the function response of the event. The model receives them in the function response, or
 * after it in the same user content if it does not accept media there. A streaming tool returns the result, or yields
 * it as `new FinalToolResult(toolResult(…))`.
 *
 * @throws ConfigurationError for an unknown parameter, and for parts that are not a list
 * @throws InvalidEventError for a response that is not an object and for a part that is not media
 * @throws SizeLimitError for more than 16 parts or more than 10 MiB of base64
 *
 * @example
 * const showLogo = new FunctionTool({
 *   name: 'show_logo',
 *   description: 'Shows the logo.',
 *   execute: async () => {
 *     const bytes = new Uint8Array(await (await fetch('https://example.com/logo.png')).arrayBuffer());
 *     return toolResult({ response: {}, parts: [{ inlineData: { mimeType: 'image/png', data: encodeBase64(bytes) } }] });
 *   },
 * });
 */
export function toolResult(params: ToolResultParams): ToolResult {
  checkOptions('toolResult', PARAMS, params, {}, 'toolResult({ response: {} })');
  const { response, parts = [] } = params;
  if (!isRecord(response))
    throw new InvalidEventError(
      `toolResult: response: expected an object, got ${describeKind(response)}; write toolResult({ response: {} })`,
      {
        path: 'response',
      },
    );
  if (parts.length > MAX_PARTS)
    throw new SizeLimitError(`toolResult: has ${parts.length} parts; at most ${MAX_PARTS} are allowed`);
  const media = parts.map(toMediaPart);
  const length = media.reduce((sum, { inlineData }) => sum + (inlineData?.data?.length ?? 0), 0);
  if (length > MAX_DATA_CHARACTERS)
    throw new SizeLimitError(
      `toolResult: parts have ${length} characters of base64; at most ${MAX_DATA_CHARACTERS} are allowed; save larger files as artifacts`,
    );
  const sealed = sealJson(media);
  if ('fault' in sealed) throw new InvalidEventError(`toolResult: parts.${sealed.fault.path}: ${sealed.fault.reason}`);
  return { [BRAND]: true, response, parts: sealed.value as readonly FunctionResponsePart[] };
}

/** True for a result of `toolResult`, including that of another loaded copy of this package. */
export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && BRAND in value;
}

function toMediaPart(part: Part, index: number): FunctionResponsePart {
  const path = `parts[${index}]`;
  const { inlineData, fileData, mediaProcessing } = part;
  const fail = (fault: string): never => {
    throw new InvalidEventError(`toolResult: ${path}${fault}`, { path });
  };
  if ((inlineData === undefined) === (fileData === undefined)) fail(': expected either inlineData or fileData');
  if (inlineData) {
    if (!inlineData.mimeType) fail(".inlineData.mimeType: is missing; write mimeType: 'image/png'");
    if (typeof inlineData.data !== 'string' || !isBase64(inlineData.data))
      fail('.inlineData.data: expected base64 text; write data: encodeBase64(bytes)');
  }
  if (fileData && !fileData.fileUri) fail('.fileData.fileUri: is missing');
  return {
    ...(inlineData && { inlineData }),
    ...(fileData && { fileData }),
    ...(mediaProcessing !== undefined && { mediaProcessing }),
  };
}

/** Returns true for media that a model reads inside a function response. */
function isTaken({ inlineData, fileData }: FunctionResponsePart, taken: ModelCapabilities['responseMedia']): boolean {
  return inlineData
    ? acceptsMedia(taken.inlineData, inlineData.mimeType ?? '')
    : acceptsMedia(taken.fileData, fileData?.mimeType ?? '');
}

/**
 * Moves media that a model does not accept in function responses after the responses of the same content, in order. Returns a
 * content without such media as it is, and modifies none.
 */
export function moveResponseParts(content: Content, taken: ModelCapabilities['responseMedia']): Content {
  const { parts = [] } = content;
  let isMoved = false;
  for (let index = 0; index < parts.length; index++)
    if (parts[index]?.functionResponse?.parts?.some((part) => !isTaken(part, taken))) isMoved = true;
  if (!isMoved) return content;
  const moved: Part[] = [];
  const kept = parts.map((part) => {
    const { functionResponse } = part;
    if (!functionResponse?.parts) return part;
    const { parts: media, ...response } = functionResponse;
    const kept = media.filter((each) => isTaken(each, taken));
    moved.push(...media.filter((each) => !kept.includes(each)));
    return { ...part, functionResponse: kept.length > 0 ? { ...response, parts: kept } : response };
  });
  return { ...content, parts: [...kept, ...moved] };
}
