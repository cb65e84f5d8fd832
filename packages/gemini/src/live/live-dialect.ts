import type { Content, LlmRequest } from '@eventloom/core';
import { resumptionHandle } from './to-live-config.ts';

/**
 * The form in which a model takes text. Up to Gemini 2.5 all typed text is sent as turns. From Gemini 3 on, turns are
 * only for the history: they must be announced in the setup and come first, and a later turn ends the connection with
 * 1007. Typed text is then sent as realtime input, like speech.
 */
export type LiveDialect = 'turns' | 'realtime';

/** Returns the dialect of a model by its name. */
export function liveDialectOf(model: string): LiveDialect {
  const major = /(?:^|\/)gemini-(?:live-)?(\d+)/.exec(model)?.[1];
  return major !== undefined && Number(major) >= 3 ? 'realtime' : 'turns';
}

/**
 * A history in the realtime dialect: the contents that are only context, and the contents that are sent again to be
 * answered.
 */
interface SplitHistory {
  readonly context: readonly Content[];
  readonly said: Content | undefined;
}

/** Splits a history. The realtime dialect does not answer the history, so the user's last content is sent separately. */
export function splitHistory(history: readonly Content[]): SplitHistory {
  const last = history.at(-1);
  const said = last && last.role !== 'model' && isSayable(last) ? last : undefined;
  return { context: said ? history.slice(0, -1) : history, said };
}

/** True for content that can be sent as realtime input: text, audio and images. */
export function isSayable({ parts = [] }: Content): boolean {
  return parts.length > 0 && parts.every(({ text, inlineData }) => text !== undefined || inlineData !== undefined);
}

/** True if the setup has to announce a history, for which the service then waits. A resumed session has its own history. */
export function announcesContext(request: LlmRequest, dialect: LiveDialect): boolean {
  if (dialect === 'turns' || resumptionHandle(request) !== undefined) return false;
  return splitHistory(request.contents).context.length > 0;
}
