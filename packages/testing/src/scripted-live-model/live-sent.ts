import { type Content, contentText, type LiveRequest } from '@eventloom/core';

/** One thing that a live connection was sent: what a client said, or the history at the start. */
export type LiveSent = LiveRequest | { readonly history: readonly Content[]; readonly isWaiting?: true };

/** The kinds of what is sent, by the field that holds it. */
export type LiveSentKind = 'history' | 'content' | 'blob' | 'activityStart' | 'activityEnd' | 'toolResponses';

/** Tells what was sent: its kind, words in a text of it, or anything else. */
export type LiveSentMatcher = LiveSentKind | RegExp | ((sent: LiveSent) => boolean);

/** True when this is what is waited for. A pattern looks at the texts of contents and at the responses of tools, as JSON. */
export function matchesSent(sent: LiveSent, matcher: LiveSentMatcher): boolean {
  if (typeof matcher === 'string') return matcher in sent;
  return typeof matcher === 'function' ? matcher(sent) : matcher.test(textOf(sent));
}

function textOf(sent: LiveSent): string {
  if ('content' in sent) return contentText(sent.content);
  if ('history' in sent) return sent.history.map(contentText).join('\n');
  return 'toolResponses' in sent ? JSON.stringify(sent.toolResponses) : '';
}
