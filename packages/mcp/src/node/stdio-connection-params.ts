import { basename } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ConfigurationError } from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import { type MCPConnectionOptions, MCPConnectionParams, type OpenTransport } from '../connection-params.ts';

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

  override '~open'(): OpenTransport {
    const { command, args = [], env, cwd, stderr = 'ignore' } = this.serverParams;
    return new StdioTransport(
      new UnrefableTransport({
        command,
        args: [...args],
        stderr,
        maxBufferSize: this.maxMessageBytes,
        ...(env && { env: { ...env } }),
        ...(cwd !== undefined && { cwd }),
      }),
    );
  }
}

/** The transport to a process. Whatever it writes arrives, so no report of a change is missed. */
class StdioTransport implements OpenTransport {
  readonly watch = 0;
  readonly transport: UnrefableTransport;

  constructor(transport: UnrefableTransport) {
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

/** A process that does not keep this one alive, and a pipe to it. */
interface Holding {
  ref(): void;
  unref(): void;
}

/** The client's transport, with the possibility to let this process end although the server's process still runs. */
class UnrefableTransport extends StdioClientTransport {
  /**
   * True makes the server's process keep this one alive, false lets this process end. The server's process then ends too, because its input
   * ends.
   */
  hold(isHeld: boolean): void {
    const process: unknown = Reflect.get(this, '_process');
    if (!isHolding(process)) return;
    const { stdin, stdout } = process as { readonly stdin?: unknown; readonly stdout?: unknown };
    for (const each of [process, stdin, stdout].filter(isHolding)) {
      if (isHeld) each.ref();
      else each.unref();
    }
  }
}

function isHolding(value: unknown): value is Holding {
  return typeof value === 'object' && value !== null && 'ref' in value && 'unref' in value;
}
