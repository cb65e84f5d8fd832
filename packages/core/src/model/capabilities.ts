import { checkOptions, type OptionRules, wrongOption } from '../agent/options.ts';

/**
 * Features of a model, which agents and the runtime read before they send it a request: see `BaseLlm.capabilities`.
 * Lists of media have media types (`image/png`) and whole kinds (`image/*`); `*` means every kind.
 */
export interface ModelCapabilities {
  /** True if the model can call functions. If false, an agent with tools is refused before the request. */
  readonly tools: boolean;
  /** True if one reply can both call functions and follow `responseJsonSchema`. If false, agents use the tool `set_model_response`. */
  readonly outputSchemaWithTools: boolean;
  /** Media that the model reads in messages. */
  readonly media: readonly string[];
  /** Media that the model reads inside a function response: bytes, and files by their address. Other media is sent after the response. */
  readonly responseMedia: { readonly inlineData: readonly string[]; readonly fileData: readonly string[] };
  /** True if the model can think before it answers. If false, an agent with a `BuiltInPlanner` is refused before the request. */
  readonly thinking: boolean;
  /**
   * True if the model's service runs Google's built-in tools, such as `googleSearch`. If false, an agent with one is
   * refused before the request.
   */
  readonly builtInTools: boolean;
  /** True if the model has live connections, for `runLive`. */
  readonly live: boolean;
}

const MEDIA = { is: 'list', write: "['image/*']" } as const;
const CAPABILITIES: OptionRules<ModelCapabilities> = {
  tools: 'flag',
  outputSchemaWithTools: 'flag',
  media: MEDIA,
  responseMedia: { is: 'object', write: "{ inlineData: ['image/*'], fileData: [] }" },
  thinking: 'flag',
  builtInTools: 'flag',
  live: 'flag',
};
const RESPONSE_MEDIA: OptionRules<ModelCapabilities['responseMedia']> = { inlineData: MEDIA, fileData: MEDIA };

/**
 * Checks the option `capabilities` of a model.
 * @param owner the class that has the option, for error messages, e.g. `AiSdkLlm`
 * @throws ConfigurationError for an unknown name, a value of another kind, and a list with items that are not strings
 */
export function checkCapabilities(owner: string, given: Partial<ModelCapabilities> = {}): void {
  const place = `${owner}: capabilities`;
  checkOptions(place, CAPABILITIES, given);
  checkMedia(place, 'media', given.media);
  const { responseMedia } = given;
  if (responseMedia === undefined) return;
  checkOptions(`${place}: responseMedia`, RESPONSE_MEDIA, responseMedia);
  for (const name of ['inlineData', 'fileData'] as const) {
    const list: readonly unknown[] | undefined = responseMedia[name];
    if (list === undefined) throw wrongOption(`${place}: responseMedia`, name, 'a list', list, MEDIA.write);
    checkMedia(`${place}: responseMedia`, name, list);
  }
}

function checkMedia(place: string, name: string, list: readonly unknown[] = []): void {
  for (const [index, type] of list.entries())
    if (typeof type !== 'string') throw wrongOption(place, `${name}[${index}]`, 'a media type', type, MEDIA.write);
}

/** Returns the features, overridden by those of the option `capabilities`. Undefined values of the option are ignored. */
export function withCapabilities(
  assumed: ModelCapabilities,
  given: Partial<ModelCapabilities> = {},
): ModelCapabilities {
  const values = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...assumed, ...Object.fromEntries(values) };
}

/** Returns true if a list of media covers a media type. */
export function acceptsMedia(patterns: readonly string[], mimeType: string): boolean {
  for (const pattern of patterns) {
    if (pattern === '*' || pattern === mimeType) return true;
    if (pattern.endsWith('/*') && mimeType.startsWith(pattern.slice(0, -1))) return true;
  }
  return false;
}

/** Returns the features that all given models have, so that each model can take any request. `live` is true if one of them has it. */
export function sharedCapabilities(all: readonly ModelCapabilities[]): ModelCapabilities {
  const [first, ...others] = all;
  const shared = (read: (capabilities: ModelCapabilities) => readonly string[]): readonly string[] =>
    others.reduce((media, other) => sharedMedia(media, read(other)), first ? read(first) : []);
  return {
    tools: all.every(({ tools }) => tools),
    outputSchemaWithTools: all.every(({ outputSchemaWithTools }) => outputSchemaWithTools),
    media: shared(({ media }) => media),
    responseMedia: {
      inlineData: shared(({ responseMedia }) => responseMedia.inlineData),
      fileData: shared(({ responseMedia }) => responseMedia.fileData),
    },
    thinking: all.every(({ thinking }) => thinking),
    builtInTools: all.every(({ builtInTools }) => builtInTools),
    live: all.some(({ live }) => live),
  };
}

/** Returns the media that both lists cover. */
function sharedMedia(first: readonly string[], second: readonly string[]): readonly string[] {
  const covered = (media: readonly string[], by: readonly string[]) => media.filter((type) => acceptsMedia(by, type));
  return [...new Set([...covered(first, second), ...covered(second, first)])];
}
