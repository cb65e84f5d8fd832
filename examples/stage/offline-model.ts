import { BaseLlm, type LlmRequest, type LlmResponse } from 'eventloom';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';

/** Replaces Gemini in runs without a key: each agent has scripted replies, one per call. The tools are really called. */
export class OfflineModel extends BaseLlm {
  readonly #lines: ReadonlyMap<string, ScriptedModel>;

  /** @param replies the replies of each agent, by its name */
  constructor(replies: Readonly<Record<string, readonly ScriptedStep[]>>) {
    // Google's service tools refuse models that are not Gemini.
    super({ model: 'gemini-offline' });
    this.#lines = new Map(Object.entries(replies).map(([name, lines]) => [name, new ScriptedModel(lines)]));
  }

  /** @throws UnexpectedModelCallError if the agent has no scripted reply left */
  override async *generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const speaker = speakerOf(request);
    const lines = this.#lines.get(speaker) ?? new ScriptedModel([], { model: `offline, for ${speaker}` });
    yield* lines.generateContentAsync(request, stream, abortSignal);
  }

  /** Returns the requests of an agent, in order. */
  requestsOf(agentName: string): LlmRequest[] {
    return (this.#lines.get(agentName)?.requests ?? []).map(({ request }) => request);
  }
}

/** Returns the agent's name, which is in the instruction of each of its requests. */
function speakerOf({ config }: LlmRequest): string {
  return /Your internal name is "([^"]+)"/.exec(String(config.systemInstruction))?.[1] ?? '';
}
