/** Interval at which the heap is measured while a request is answered, in milliseconds. */
const EVERY_MS = 10;

/** Reads the heap size of an isolate of workerd through its inspector. */
export class HeapWatch {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: { usedSize?: number }) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    // The isolate ended, so pending requests have no result.
    socket.addEventListener('close', () => {
      for (const resolve of this.#waiting.values()) resolve({});
      this.#waiting.clear();
    });
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: { usedSize?: number } };
      if (id === undefined) return;
      this.#waiting.get(id)?.(result ?? {});
      this.#waiting.delete(id);
    });
  }

  /** @param origin origin of the inspector */
  static async open(origin: string): Promise<HeapWatch> {
    const [target] = (await (await fetch(`${origin}/json`)).json()) as {
      webSocketDebuggerUrl: string;
      devtoolsFrontendUrl: string;
    }[];
    if (!target) throw new TypeError('the inspector of workerd lists no target');
    // Only developer tools are admitted. Node's own sockets accept headers, which the web's type lacks.
    const options: object = { headers: { origin: new URL(target.devtoolsFrontendUrl).origin } };
    const socket: WebSocket = Reflect.construct(WebSocket, [target.webSocketDebuggerUrl, options]);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    return new HeapWatch(socket);
  }

  /** Returns the bytes in use, including garbage. */
  async used(): Promise<number> {
    return (await this.#ask('Runtime.getHeapUsage')).usedSize ?? Number.NaN;
  }

  /**
   * Returns the maximum number of bytes in use during the work, including garbage. Memory that is freed within one turn
   * of the event loop is not seen.
   */
  async highest(work: () => Promise<void>): Promise<number> {
    let highest = 0;
    let isEnded = false;
    const over = work().finally(() => (isEnded = true));
    while (!isEnded) {
      highest = Math.max(highest, (await this.used()) || 0);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    await over;
    return highest;
  }

  close(): void {
    this.#socket.close();
  }

  #ask(method: string): Promise<{ usedSize?: number }> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.resolve({});
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<{ usedSize?: number }>();
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method }));
    return promise;
  }
}
