/** What code printed, of which only so many characters are kept. */
export class OutputBuffer {
  #left: number;
  #stdout = '';
  #stderr = '';

  constructor(maxChars: number) {
    this.#left = maxChars;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** True when something was left out: the rest will be too. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  /** With a note behind it when something was left out. */
  get stderr(): string {
    return this.isFull ? `${this.#stderr}The output was cut off here.\n` : this.#stderr;
  }

  write(stream: 'stdout' | 'stderr', line: string): void {
    if (this.isFull) return;
    const text = `${line}\n`.slice(0, this.#left);
    const isWhole = text.length === line.length + 1;
    this.#left = isWhole ? this.#left - text.length : -1;
    if (stream === 'stdout') this.#stdout += text;
    else this.#stderr += isWhole || text === '' ? text : `${text}\n`;
  }
}
