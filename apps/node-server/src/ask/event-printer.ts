import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import type { Terminal } from '../terminal.ts';

const DIM = '\u001B[2m';
const BOLD = '\u001B[1m';
const RED = '\u001B[31m';
const RESET = '\u001B[0m';
/**
 * Matches control characters, which could move the cursor, write the clipboard or begin an escape sequence: texts of
 * models and tools may contain them.
 */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/** Prints the events of a run: chunks as they arrive, and of a final event only the text that was not printed yet. */
export class EventPrinter {
  readonly #terminal: Terminal;
  /** The id of the reply whose chunks are being printed; its line has not ended. */
  #openReply: string | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  print(event: Event): void {
    const parts = event.content?.parts ?? [];
    if (event.partial === true) {
      const text = parts.map(({ text: piece = '' }) => piece).join('');
      if (text !== '') this.#printChunk(event, text);
      return;
    }
    const wasShown = this.#openReply !== undefined && this.#openReply === event.responseId;
    this.#endLine();
    const { author } = event;
    for (const { text, thought } of wasShown ? [] : parts) {
      if (text) this.#line(author, thought === true ? `(thinks) ${text}` : text, thought === true ? DIM : undefined);
    }
    for (const { name, args } of getFunctionCalls(event)) this.#line(author, `→ ${name} ${JSON.stringify(args ?? {})}`);
    for (const { name, response } of getFunctionResponses(event)) {
      this.#line(author, `← ${name} ${JSON.stringify(response ?? {})}`);
    }
    this.#printActions(event);
    if (event.errorCode !== undefined) {
      this.#line(author, `! ${event.errorCode}: ${event.errorMessage ?? ''}`, RED);
    }
  }

  #printChunk({ author, responseId }: Event, text: string): void {
    if (this.#openReply === undefined || this.#openReply !== responseId) {
      this.#endLine();
      this.#openReply = responseId ?? '';
      this.#terminal.write(this.#prefix(author));
    }
    this.#terminal.write(text.replaceAll(CONTROLS, ''));
  }

  #printActions({ author, actions }: Event): void {
    for (const [key, value] of Object.entries(actions.stateDelta)) {
      this.#line(author, `state ${key} = ${JSON.stringify(value)}`, DIM);
    }
    for (const key of actions.removedState ?? []) this.#line(author, `state ${key} removed`, DIM);
    for (const [name, version] of Object.entries(actions.artifactDelta)) {
      this.#line(author, `artifact ${name}, version ${version}`, DIM);
    }
    if (actions.transferToAgent !== undefined) this.#line(author, `transfers to ${actions.transferToAgent}`, DIM);
  }

  #line(author: string, text: string, colour?: string): void {
    this.#terminal.print(`${this.#prefix(author)}${this.#paint(colour, text)}`);
  }

  #endLine(): void {
    if (this.#openReply !== undefined) this.#terminal.print('');
    this.#openReply = undefined;
  }

  #prefix(author: string): string {
    return `${this.#paint(BOLD, author)}  `;
  }

  #paint(colour: string | undefined, text: string): string {
    const plain = text.replaceAll(CONTROLS, '');
    return colour !== undefined && this.#terminal.hasColours ? `${colour}${plain}${RESET}` : plain;
  }
}
