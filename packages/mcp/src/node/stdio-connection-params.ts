import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import {
  deserializeMessage,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { ConfigurationError, type Platform, toError } from '@eventloom/core';
import { checkOptions, type OptionRules, wrongOption } from '@eventloom/core/internal';
import {
  CONNECTION_OPTIONS,
  type MCPConnectionOptions,
  MCPConnectionParams,
  type OpenTransport,
  type TransportHost,
} from '../connection-params.ts';
import { MCPLimitError } from '../errors.ts';
import { tooLarge } from '../limit-body.ts';

/** The process of a server: its command and its environment. */
export interface StdioServerParameters {
  /** The program to start, such as `npx`. It is started without a shell. */
  readonly command: string;
  /** The arguments of the command, each passed to the program as it is. Default: none. */
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
  serverParams: { is: 'object', write: "{ command: 'npx', args: ['-y', 'my-mcp-server'] }" },
  ...CONNECTION_OPTIONS,
};

const SERVER_OPTIONS: OptionRules<StdioServerParameters> = {
  command: 'text',
  args: 'list',
  env: 'object',
  cwd: 'text',
  stderr: { is: 'text', oneOf: ['ignore', 'inherit'] },
};

/**
 * The connection to an MCP server that is started as a process of this machine and speaks over its standard input and output. Each
 * connection starts its own process, which ends with the connection. Only on Node.
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
      command: 'write serverParams: { command, args }',
      args: 'write serverParams: { command, args }',
    });
    checkOptions(`${owner}: serverParams`, SERVER_OPTIONS, options.serverParams);
    super(options);
    const { command, args = [] } = options.serverParams;
    if (typeof command !== 'string' || command === '')
      throw new ConfigurationError(
        `${owner}: serverParams.command is missing; write serverParams: { command: 'npx', args: ['-y', 'my-mcp-server'] }`,
      );
    if (!Array.isArray(args) || args.some((arg) => typeof arg !== 'string'))
      throw wrongOption(owner, 'serverParams.args', 'a list of strings', args, "['-y', 'my-mcp-server']");
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
    return new StdioTransport(this.serverParams, this.maxMessageBytes, platform);
  }
}

/** The transport to a process. Its output is read completely, so no report of a change is missed. */
class StdioTransport implements OpenTransport {
  readonly watch = 0;
  readonly transport: ProcessTransport;
  /** Functions to call if answers can no longer arrive, by the exchanges of their requests. */
  readonly #broken = new Map<string, (reason: unknown) => void>();

  constructor(params: StdioServerParameters, maxMessageBytes: number, platform: Platform) {
    this.transport = new ProcessTransport(params, maxMessageBytes, platform, (reason) => {
      for (const broken of this.#broken.values()) broken(reason);
    });
  }

  get failure(): Error | undefined {
    return this.transport.failure;
  }

  suspend(): void {
    this.transport.hold(false);
  }

  resume(): void {
    this.transport.hold(true);
  }

  endExchange(exchange: string): void {
    this.#broken.delete(exchange);
  }

  onBrokenExchange(exchange: string, broken: (reason: unknown) => void): void {
    this.#broken.set(exchange, broken);
  }

  terminate(): Promise<void> {
    return Promise.resolve();
  }
}

/** Time that a process has to end by itself after its input has ended, and again after it was asked to end. */
const END_MS = 2000;

/** A process that exchanges JSON-RPC messages over its standard input and output, one message a line. */
class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The reason why the connection ended, unless it was closed. */
  failure: Error | undefined;
  readonly #params: StdioServerParameters;
  readonly #platform: Platform;
  readonly #lines: Lines;
  readonly #broken: (reason: unknown) => void;
  #process: ChildProcessByStdio<Writable, Readable, null> | undefined;
  #hasSpoken = false;

  /** @param broken called when the process writes a message that is too large */
  constructor(
    params: StdioServerParameters,
    maxMessageBytes: number,
    platform: Platform,
    broken: (reason: unknown) => void,
  ) {
    this.#params = params;
    this.#platform = platform;
    this.#lines = new Lines(maxMessageBytes);
    this.#broken = broken;
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
    child.on('exit', (code, signal) => {
      if (this.#process)
        this.failure ??= new Error(`the process ended (${signal ?? `exit code ${code}`})${this.#advice}`);
    });
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

  /** Advice on how to see why a process ended before its first message. */
  get #advice(): string {
    return this.#hasSpoken || this.#params.stderr === 'inherit'
      ? ''
      : "; run its command in a terminal, or write stderr: 'inherit' in serverParams, to see why";
  }

  #read(chunk: Buffer): void {
    if (!this.#process) return;
    try {
      for (const line of this.#lines.add(chunk)) this.#receive(line);
    } catch (error) {
      // The rest of the output can no longer be divided into messages.
      this.failure = toError(error);
      this.#broken(error);
      this.#process.kill('SIGKILL');
      this.#platform.background(this.close());
    }
  }

  #receive(line: string): void {
    // Some servers write logs to the standard output by mistake.
    if (!line.startsWith('{')) return;
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      this.onerror?.(toError(error));
      return;
    }
    this.#hasSpoken = true;
    this.onmessage?.(message);
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
    // This program must not end while it waits for the server's process.
    this.hold(true);
    const child = this.#process;
    this.#process = undefined;
    if (!child) return;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.once('close', () => resolve());
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    const cancels = [
      this.#platform.schedule(END_MS, () => child.kill('SIGTERM'), { idle: true }),
      this.#platform.schedule(2 * END_MS, () => child.kill('SIGKILL'), { idle: true }),
    ];
    child.stdin.end();
    await ended;
    for (const cancel of cancels) cancel();
    // A process that the server started may hold the output open.
    child.stdout.destroy();
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

const NEWLINE = 10;

/** Divides the output of a process into lines. */
class Lines {
  readonly #maxBytes: number;
  /** The pieces of the last line so far. */
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that end in a piece of the output. @throws MCPLimitError for a line with more bytes than allowed */
  add(piece: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      this.#keep(piece.subarray(start, end));
      lines.push(Buffer.concat(this.#pieces).toString());
      this.#pieces = [];
      this.#bytes = 0;
      start = end + 1;
    }
    if (start < piece.length) this.#keep(piece.subarray(start));
    return lines;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) throw new MCPLimitError(tooLarge(this.#maxBytes));
    this.#pieces.push(piece);
  }
}

/** True for objects with `ref` and `unref`, which processes and pipes have although the type of pipes lacks them. */
function isHolding<T extends object>(value: T): value is T & { ref(): void; unref(): void } {
  return 'ref' in value && 'unref' in value;
}
