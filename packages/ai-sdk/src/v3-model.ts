import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3DataContent,
  LanguageModelV3Message,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
} from '@ai-sdk/provider';

type GenerateResult = Awaited<ReturnType<LanguageModelV4['doGenerate']>>;
type ResultFile = Extract<
  Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number],
  { type: 'file' }
>;
type V3ResultPart = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number];
type StreamResult = Awaited<ReturnType<LanguageModelV4['doStream']>>;

/**
 * Returns a model of version 3 of the specification (AI SDK 6) as one of version 4. Requests are translated; the option
 * `reasoning`, which version 3 lacks, must not be set. Replies differ only in the data of files, of which `Reply` reads
 * both forms.
 */
export function asV4(model: LanguageModelV3): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(toV3Options(options)) as PromiseLike<GenerateResult>,
    doStream: (options) => model.doStream(toV3Options(options)) as PromiseLike<StreamResult>,
  };
}

function toV3Options(options: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  return { ...options, prompt: options.prompt.map(toV3Message) };
}

function toV3Message(message: LanguageModelV4Message): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return message;
    case 'user':
      return {
        ...message,
        content: message.content.map((part) => (part.type === 'file' ? { ...part, data: toV3Data(part.data) } : part)),
      };
    case 'assistant':
      return {
        ...message,
        content: message.content.flatMap((part) => {
          if (part.type === 'file') return { ...part, data: toV3Data(part.data) };
          if (part.type === 'tool-result') return { ...part, output: toV3Output(part.output) };
          // Models of version 3 do not create such parts, so these came from another model.
          return part.type === 'custom' || part.type === 'reasoning-file' ? [] : part;
        }),
      };
    case 'tool':
      return {
        ...message,
        content: message.content.map((part) =>
          part.type === 'tool-result' ? { ...part, output: toV3Output(part.output) } : part,
        ),
      };
  }
}

function toV3Data(data: SharedV4FileData): LanguageModelV3DataContent {
  if (data.type === 'url') return data.url;
  if (data.type === 'data') return data.data;
  return data.type === 'text' ? new TextEncoder().encode(data.text) : '';
}

function toV3Output(output: LanguageModelV4ToolResultOutput): LanguageModelV3ToolResultOutput {
  if (output.type !== 'content') return output;
  return {
    ...output,
    value: output.value.map((part) => (part.type === 'file' ? toV3ResultFile(part) : part)),
  };
}

function toV3ResultFile({ data, mediaType }: ResultFile): V3ResultPart {
  const isImage = mediaType.startsWith('image/');
  if (data.type === 'url')
    return isImage ? { type: 'image-url', url: data.url.href } : { type: 'file-url', url: data.url.href };
  const bytes = data.type === 'data' && typeof data.data === 'string' ? data.data : '';
  return isImage ? { type: 'image-data', data: bytes, mediaType } : { type: 'file-data', data: bytes, mediaType };
}
