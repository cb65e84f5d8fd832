import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { ConfigurationError, type Platform, toError } from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import {
  type MCPConnectionOptions,
  MCPConnectionParams,
  type OpenTransport,
  type TransportHost,
} from '../connection-params.ts';

/** The process of a server: its command and its environment. */
export interface StdioServerParameters {
  /** The program to start, such as `npx`. It is started without a shell. */
  readonly command: string;
  /** Its arguments. */
  readonly args?: readonly string[] | undefined;
  /** Its environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER of this process. Nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Its working directory. Default: that of this process. */
  readonly cwd?: string | undefined;
  /** `inherit` shows what the server writes to its standard error, `ignore` discards it. Default `ignore`, because it can hold secrets. */
  readonly stderr?: 'inherit' | 'ignore' | undefined;
}

/** Options of `StdioConnectionParams`. */
export interface StdioConnectionOptions extends MCPConnectionOptions {
  readonly serverParams: StdioServerParameters;
}

const OPTIONS: OptionRules<StdioConnectionOptions> = {
  serverParams: 'object',
  timeoutMs: 'number',
  callTimeoutMs: 'number',
  maxMessageBytes: 'number',
};

const SERVER_OPTIONS: OptionRules<StdioServerParameters> = {
  command: 'text',
  args: 'list',
  env: 'object',
  cwd: 'text',
  stderr: 'text',
};

/**
 * The connection to an MCP server that is started as a process of this machine and speaks over its standard input and output. Each connection
 * has a process of its own, which ends with it. Only on Node.
 *
 * @example
 * import { StdioConnectionParams } from '@eventloom/mcp/node';
 *
 * const connectionParams = new StdioConnectionParams({
 *   serverParams: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/data'] },
 * });
 */
export class StdioConnectionParams extends MCPConnectionParams {
  readonly serverParams: StdioServerParameters;

  /** @throws ConfigurationError for a missing command and for an unknown option */
  constructor(options: StdioConnectionOptions) {
    const owner = 'StdioConnectionParams';
    checkOptions(owner, OPTIONS, options, {
      type: 'leave it out: the class says what it is',
      timeout: 'write timeoutMs',
    });
    checkOptions(`${owner}: serverParams`, SERVER_OPTIONS, options.serverParams);
    super(owner, options);
    const { command, args = [], stderr = 'ignore' } = options.serverParams;
    if (typeof command !== 'string' || command === '')
      throw new ConfigurationError(
        `${owner}: serverParams.command is missing; write the program to start, such as 'npx'`,
      );
    if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string'))
      throw new ConfigurationError(`${owner}: serverParams.args must be a list of strings`);
    if (stderr !== 'inherit' && stderr !== 'ignore')
      throw new ConfigurationError(
        `${owner}: serverParams.stderr must be inherit or ignore, is ${JSON.stringify(stderr)}`,
      );
    this.serverParams = options.serverParams;
  }

  override get serverName(): string {
    const { command, args = [] } = this.serverParams;
    return basename(args.find((arg) => !arg.startsWith('-')) ?? command);
  }

  override get address(): string {
    return `the process ${this.serverParams.command}`;
  }

  override '~open'({ platform }: TransportHost): OpenTransport {
    return new StdioTransport(new ProcessTransport(this.serverParams, this.maxMessageBytes, platform));
  }
}

/** The transport to a process. Whatever it writes arrives, so no report of a change is missed. */
class StdioTransport implements OpenTransport {
  readonly watch = 0;
  readonly transport: ProcessTransport;

  constructor(transport: ProcessTransport) {
    this.transport = transport;
  }

  suspend(): void {
    this.transport.hold(false);
  }

  resume(): void {
    this.transport.hold(true);
  }

  endExchange(): void {
    // Requests share one pipe: there is nothing to end.
  }

  onBrokenExchange(): void {
    // The end of the process ends all requests.
  }

  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

/** Time for a process to end by itself once its input has ended, and again once it was asked to end. */
const END_MS = 2000;

/** A process, and messages of JSON-RPC over its standard input and output, one a line. */
class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #params: StdioServerParameters;
  readonly #platform: Platform;
  readonly #received: ReadBuffer;
  #process: ChildProcessByStdio<Writable, Readable, null> | undefined;

  constructor(params: StdioServerParameters, maxMessageBytes: number, platform: Platform) {
    this.#params = params;
    this.#platform = platform;
    this.#received = new ReadBuffer({ maxBufferSize: maxMessageBytes });
  }

  /** Resolves once the process runs, and rejects if it cannot be started. */
  start(): Promise<void> {
    const { command, args = [], env, cwd, stderr = 'ignore' } = this.#params;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', stderr],
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    this.#process = child;
    const fail = (error: Error): void => this.onerror?.(error);
    child.stdin.on('error', fail);
    child.stdout.on('error', fail);
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.on('close', () => {
      this.#process = undefined;
      this.onclose?.();
    });
    return new Promise((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', (error) => {
        reject(error);
        fail(error);
      });
    });
  }

  #read(chunk: Buffer): void {
    try {
      this.#received.append(chunk);
    } catch (error) {
      this.onerror?.(toError(error));
      this.#platform.background(this.close());
      return;
    }
    for (;;) {
      try {
        const message = this.#received.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message: servers write logs there by mistake.
        this.onerror?.(toError(error));
      }
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#process?.stdin;
    if (!input) throw new SdkError(SdkErrorCode.NotConnected, 'the process has ended');
    await new Promise<void>((resolve, reject) => {
      input.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends the input of the process, and then the process if it does not end by itself. */
  async close(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    this.#received.clear();
    if (!child) return;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    child.once('close', () => resolve());
    const cancels = [
      this.#platform.schedule(END_MS, () => child.kill('SIGTERM'), { idle: true }),
      this.#platform.schedule(2 * END_MS, () => child.kill('SIGKILL'), { idle: true }),
    ];
    child.stdin.end();
    await ended;
    for (const cancel of cancels) cancel();
  }

  /**
   * True makes the server's process keep this one alive, false lets this process end. The server's process then ends too, because its input
   * ends.
   */
  hold(isHeld: boolean): void {
    const child = this.#process;
    if (!child) return;
    for (const each of [child, child.stdin, child.stdout].filter(isHolding)) {
      if (isHeld) each.ref();
      else each.unref();
    }
  }
}

/** Something that can let this process end: a process, and a pipe, whose type does not say so. */
function isHolding<T extends object>(value: T): value is T & { ref(): void; unref(): void } {
  return 'ref' in value && 'unref' in value;
}
