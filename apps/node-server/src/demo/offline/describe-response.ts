import type { FunctionResponse } from '@eventloom/core';

type Fields = Readonly<Record<string, unknown>>;

/** How what a demo tool answered is put into words, by its name. */
const SENTENCES: Readonly<Record<string, (fields: Fields) => string>> = {
  get_weather: ({ city, celsius, sky }) => `In ${say(city)} it is ${say(celsius)} °C and ${say(sky)}.`,
  calculate: ({ expression, value }) => `${say(expression)} is ${say(value)}.`,
  save_note: ({ saved, notes }) => `I noted "${say(saved)}"; that makes ${count(notes, 'note')}.`,
  list_notes: ({ notes }) =>
    Array.isArray(notes) && notes.length > 0
      ? `Your notes: ${notes.map(String).join('; ')}.`
      : 'You have no notes yet.',
  save_file: ({ filename, version }) => `I saved ${say(filename)} as an artifact, version ${say(version)}.`,
};

/** One tool's answer as a sentence. */
export function describeResponse({ name = 'a tool', response = {} }: FunctionResponse): string {
  if (response['error'] !== undefined) return `${name} says: ${say(response['error'])}.`;
  const sentence = Object.hasOwn(SENTENCES, name) ? SENTENCES[name] : undefined;
  return sentence ? sentence(response) : `${name} answered ${JSON.stringify(response)}.`;
}

function say(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function count(value: unknown, thing: string): string {
  return `${say(value)} ${thing}${value === 1 ? '' : 's'}`;
}
