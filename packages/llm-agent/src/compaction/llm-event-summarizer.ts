import {
  type BaseLlm,
  ConfigurationError,
  contentText,
  type Event,
  type FunctionCall,
  type LlmResponse,
  ModelError,
  type Part,
  createLlmRequest,
} from '@eventloom/core';
import { type OptionRules, checkModel, checkOptions } from '@eventloom/core/internal';
import { codePartText } from '../code-execution/code-contents.ts';
import { isFrameworkPart, transcriptionOf } from '../contents/event-content.ts';
import { BaseEventsSummarizer, createCompactionEvent, type SummarizeEventsRequest } from './base-events-summarizer.ts';

/** Options of an `LlmEventSummarizer`. */
export interface LlmEventSummarizerOptions {
  /** The model that writes the summaries. It may differ from the agent's model. */
  readonly model: BaseLlm;
  /** The prompt. Must contain `{conversation_history}`, which is replaced by the transcript. Default: a built-in English prompt. */
  readonly promptTemplate?: string | undefined;
}

const MODEL = "new Gemini({ model: 'gemini-flash-latest', apiKey })";
const OPTIONS: OptionRules<LlmEventSummarizerOptions> = {
  model: { is: 'object', wanted: 'a model object', write: MODEL },
  promptTemplate: 'text',
};
const HISTORY_SLOT = '{conversation_history}';

const PROMPT = `Below is a conversation between a user and one or more AI agents, with the tools that they called and what these answered.
Sum it up, so that the agents can go on from your summary alone. Keep what was asked and what was answered, facts, names, numbers
and identifiers as they were said, decisions and their reasons, what the user prefers, and what is still open. Leave out small talk
and detours. Write nothing but the summary.

{conversation_history}`;

/**
 * Summarizes a session's events with a model. The model reads a transcript of messages, tool calls and responses, without thoughts.
 *
 * @example
 * const summarizer = new LlmEventSummarizer({ model: new Gemini({ model: 'gemini-flash-lite-latest', apiKey }) });
 */
export class LlmEventSummarizer extends BaseEventsSummarizer {
  readonly #model: BaseLlm;
  readonly #template: string;

  /**
   * Creates a summarizer.
   * @throws ConfigurationError for an invalid model, a template without `{conversation_history}`, or an option name
   * that this version does not know
   */
  constructor(options: LlmEventSummarizerOptions) {
    super();
    checkOptions('LlmEventSummarizer', OPTIONS, options, {
      llm: 'did you mean "model"?',
      prompt: 'did you mean "promptTemplate"?',
    });
    const { model, promptTemplate = PROMPT } = options;
    checkModel('LlmEventSummarizer', 'model', model, 'a model object', MODEL);
    if (!promptTemplate.includes(HISTORY_SLOT))
      throw new ConfigurationError(
        `LlmEventSummarizer: promptTemplate: expected a text with the placeholder ${HISTORY_SLOT}; write promptTemplate: 'Sum up: ${HISTORY_SLOT}'`,
      );
    this.#model = model;
    this.#template = promptTemplate;
  }

  /** Summarizes events with the model. @throws ModelError if the model call fails, or the summary is empty or was truncated */
  override async maybeSummarizeEvents({ events, abortSignal }: SummarizeEventsRequest): Promise<Event | undefined> {
    const transcript = toTranscript(events);
    if (transcript === '') return undefined;
    const request = createLlmRequest();
    request.model = this.#model.model;
    request.contents = [{ role: 'user', parts: [{ text: this.#template.replaceAll(HISTORY_SLOT, () => transcript) }] }];
    let text = '';
    let last: LlmResponse = {};
    for await (const response of this.#model.generateContentAsync(request, false, abortSignal)) {
      if (response.partial === true) continue;
      text += contentText(response.content);
      last = response;
    }
    const { errorCode, errorMessage, finishReason, usageMetadata, modelVersion } = last;
    if (errorCode !== undefined || (finishReason !== undefined && finishReason !== 'STOP') || text.trim() === '') {
      const reason = errorCode ?? finishReason ?? 'STOP';
      const what = text.trim() === '' ? 'the summary is empty' : 'the summary is incomplete';
      throw new ModelError(errorMessage ?? `${what} (${reason})`, { errorCode: reason });
    }
    return createCompactionEvent(
      { role: 'model', parts: [{ text }] },
      {
        ...(usageMetadata === undefined ? {} : { usageMetadata }),
        ...(modelVersion === undefined ? {} : { modelVersion }),
      },
    );
  }
}

/**
 * Formats messages, calls and responses as text, one paragraph for each with its author. Returns an empty string if there is nothing to
 * summarize.
 */
function toTranscript(events: readonly Event[]): string {
  const lines: string[] = [];
  const calls = new Map<string | undefined, FunctionCall>();
  for (const event of events) {
    const { author } = event;
    const spoken = transcriptionOf(event);
    if (spoken) lines.push(`${author}: ${spoken.text}`);
    for (const part of event.content?.parts ?? []) {
      const { functionCall: call, functionResponse: response } = part;
      if (call) calls.set(call.id, call);
      if (isFrameworkPart(part, call ?? calls.get(response?.id))) continue;
      const line = toLine(author, part);
      if (line !== undefined) lines.push(line);
    }
  }
  return lines.join('\n\n');
}

function toLine(author: string, part: Part): string | undefined {
  if (part.thought === true) return undefined;
  const { text, functionCall: call, functionResponse: response, inlineData, fileData } = part;
  if (call) return `${author} called the tool ${call.name ?? ''}: ${JSON.stringify(call.args ?? {})}`;
  if (response) return `The tool ${response.name ?? ''} answered: ${JSON.stringify(response.response ?? {})}`;
  const code = codePartText(part);
  if (code !== undefined) return `${author} ${part.executableCode ? 'ran code' : 'got the result'}:\n${code}`;
  const attached = inlineData ?? fileData;
  if (attached)
    return `${author} attached ${[attached.displayName, fileData?.fileUri, attached.mimeType].filter(Boolean).join(', ')}`;
  return text === undefined || text.trim() === '' ? undefined : `${author}: ${text}`;
}
