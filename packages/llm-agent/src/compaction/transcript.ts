import type { Event, Part } from '@eventloom/core';
import { codePartText } from '../code-execution/code-part-text.ts';
import { isFrameworkPart, transcriptionOf } from '../contents/event-content.ts';

/** Who said, called and answered what, a paragraph for each. Empty when there is nothing to tell. */
export function toTranscript(events: readonly Event[]): string {
  const lines: string[] = [];
  for (const event of events) {
    const { author } = event;
    const spoken = transcriptionOf(event);
    if (spoken) lines.push(`${author}: ${spoken.text}`);
    for (const part of event.content?.parts ?? []) {
      const line = toLine(author, part);
      if (line !== undefined) lines.push(line);
    }
  }
  return lines.join('\n\n');
}

function toLine(author: string, part: Part): string | undefined {
  if (part.thought === true || isFrameworkPart(part)) return undefined;
  const { text, functionCall: call, functionResponse: answer, inlineData, fileData } = part;
  if (call) return `${author} called the tool ${call.name ?? ''}: ${JSON.stringify(call.args ?? {})}`;
  if (answer) return `The tool ${answer.name ?? ''} answered: ${JSON.stringify(answer.response ?? {})}`;
  const code = codePartText(part);
  if (code !== undefined) return `${author} ${part.executableCode ? 'ran code' : 'got the result'}:\n${code}`;
  const attached = inlineData ?? fileData;
  if (attached)
    return `${author} attached ${[attached.displayName, fileData?.fileUri, attached.mimeType].filter(Boolean).join(', ')}`;
  return text === undefined || text.trim() === '' ? undefined : `${author}: ${text}`;
}
