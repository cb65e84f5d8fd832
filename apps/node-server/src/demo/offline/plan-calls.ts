import type { FunctionCall } from '@eventloom/core';
import { findExpressions } from '../arithmetic/find-expressions.ts';
import { WEATHER } from '../weather-table.ts';

/**
 * Maximum number of characters of a message that are read. The patterns here take up to quadratic time, so the text
 * must be short.
 */
const MAX_TEXT = 1000;
const MAX_CALLS = 8;
const WEATHER_WORDS = /\b(weather|forecast|temperature|rain(ing|y)?|sunny|snow(ing)?|hot|cold|warm|degrees)\b/i;
const NAME = String.raw`\p{Lu}[\p{L}'’-]*(?:\s\p{Lu}[\p{L}'’-]*)*`;
const PLACES = new RegExp(
  String.raw`\b(?:in|for|at)\s+(?:the\s+)?(${NAME}(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s+or\s+)${NAME})*)`,
  'gu',
);
const PLACE = /\b(?:in|for|at)\s+(?:the\s+)?(\p{L}[\p{L}'’-]*)/u;
const NOTE = /\b(?:note(?: down)?|remember|remind me)(?:\s+(?:that|to))?\s*:?\s+(?<text>[^\n.;!?]+)/giu;
const LIST_NOTES = /\b(?:what|which|list|show|read|tell)\b[^.?!]*\bnotes?\b|\bmy notes\b/i;
const FILE =
  /\b(?:save|write|create|make|store)\b[^.?!]*?\b(?:file|document|artifact|[\w-]{1,80}\.(?:txt|md|csv|json))\b/i;
const FILE_NAME = /[\w-]{1,80}\.(?:txt|md|csv|json)\b/i;
const REFUND_WORDS = /\b(?:refund|money back)\b/i;
const ORDER = /\border\s{1,3}(?:number\s{1,3})?#?(?<order>\d{1,20})\b/i;
const QUOTED = /["“](?<text>[^"”]+)["”]/;
const CONTAINED =
  /\b(?:with|containing|saying|that says)\s+(?:the (?:text|words?)\s+)?(?<text>[^\n?!;]+?)(?=[.?!;](?:\s|$)|\n|$)/i;

/** The tool that refunds an order. */
export const REFUND = 'refund_order';

/** Returns the tool calls for a text, selected by words in it; an empty list if no word matches. */
export function planCalls(text: string): FunctionCall[] {
  const source = text.slice(0, MAX_TEXT);
  const isFile = FILE.test(source);
  const fileText = isFile ? (QUOTED.exec(source) ?? CONTAINED.exec(source)) : null;
  const rest = fileText ? source.replace(fileText[0], ' ') : source;
  const order = REFUND_WORDS.test(source) ? ORDER.exec(source)?.groups?.['order'] : undefined;
  if (order !== undefined) return [{ name: REFUND, args: { order } }];
  const notes = planNotes(rest);
  const withoutNotes = notes.length > 0 ? rest.replaceAll(NOTE, ' ') : rest;
  return [
    ...planWeather(withoutNotes),
    ...findExpressions(withoutNotes).map((expression) => ({ name: 'calculate', args: { expression } })),
    ...notes,
    ...(notes.length === 0 && LIST_NOTES.test(withoutNotes) ? [{ name: 'list_notes', args: {} }] : []),
    ...(isFile ? [planFile(source, fileText?.groups?.['text'])] : []),
  ].slice(0, MAX_CALLS);
}

function planWeather(text: string): FunctionCall[] {
  if (!WEATHER_WORDS.test(text)) return [];
  const lower = text.toLowerCase();
  const known = Object.keys(WEATHER).filter((city) => new RegExp(`\\b${city.toLowerCase()}\\b`).test(lower));
  const named = Array.from(text.matchAll(PLACES), ([, list = '']) =>
    list.split(/,\s*(?:and\s+)?|\s+(?:and|or)\s+/),
  ).flat();
  const other = PLACE.exec(text)?.[1];
  const cities = [
    ...known,
    ...named.filter((name) => !known.some((city) => city.toLowerCase().startsWith(name.toLowerCase()))),
  ];
  const asked = cities.length > 0 || other === undefined ? cities : [other];
  return asked
    .toSorted((one, another) => lower.indexOf(one.toLowerCase()) - lower.indexOf(another.toLowerCase()))
    .map((city) => ({ name: 'get_weather', args: { city } }));
}

function planNotes(text: string): FunctionCall[] {
  return Array.from(text.matchAll(NOTE), ({ groups }) => ({
    name: 'save_note',
    args: { text: (groups?.['text'] ?? '').trim() },
  })).filter(({ args }) => args.text !== '');
}

function planFile(text: string, content = text): FunctionCall {
  const filename = FILE_NAME.exec(text)?.[0] ?? 'note.txt';
  return { name: 'save_file', args: { filename, text: content.trim() } };
}
