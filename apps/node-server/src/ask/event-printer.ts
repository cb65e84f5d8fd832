import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import type { Terminal } from '../terminal.ts';

const DIM = '\u001B[2m';
const BOLD = '\u001B[1m';
const RED = '\u001B[31m';
const RESET = '\u001B[0m';

/** Shows the events of a run to a person: chunks as they come, and of the event that merges them only what is new. */
export class EventPrinter {
  readonly #terminal: Terminal;
  /** The reply whose chunks are being shown; the line is not ended yet. */
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
      if (text) this.#line(author, thought === true ? this.#dim(`(thinks) ${text}`) : text);
    }
    for (const { name, args } of getFunctionCalls(event)) this.#line(author, `→ ${name} ${JSON.stringify(args ?? {})}`);
    for (const { name, response } of getFunctionResponses(event)) {
      this.#line(author, `← ${name} ${JSON.stringify(response ?? {})}`);
    }
    this.#printActions(event);
    if (event.errorCode !== undefined) {
      this.#line(author, this.#paint(RED, `! ${event.errorCode}: ${event.errorMessage ?? ''}`));
    }
  }

  #printChunk({ author, responseId }: Event, text: string): void {
    if (this.#openReply === undefined || this.#openReply !== responseId) {
      this.#endLine();
      this.#openReply = responseId ?? '';
      this.#terminal.write(this.#prefix(author));
    }
    this.#terminal.write(text);
  }

  #printActions({ author, actions }: Event): void {
    for (const [key, value] of Object.entries(actions.stateDelta)) {
      this.#line(author, this.#dim(`state ${key} = ${JSON.stringify(value)}`));
    }
    for (const key of actions.removedState ?? []) this.#line(author, this.#dim(`state ${key} removed`));
    for (const [name, version] of Object.entries(actions.artifactDelta)) {
      this.#line(author, this.#dim(`artifact ${name}, version ${version}`));
    }
    if (actions.transferToAgent !== undefined)
      this.#line(author, this.#dim(`hands over to ${actions.transferToAgent}`));
  }

  #line(author: string, text: string): void {
    this.#terminal.print(`${this.#prefix(author)}${text}`);
  }

  #endLine(): void {
    if (this.#openReply !== undefined) this.#terminal.print('');
    this.#openReply = undefined;
  }

  #prefix(author: string): string {
    return `${this.#paint(BOLD, author)}  `;
  }

  #dim(text: string): string {
    return this.#paint(DIM, text);
  }

  #paint(colour: string, text: string): string {
    return this.#terminal.hasColours ? `${colour}${text}${RESET}` : text;
  }
}
