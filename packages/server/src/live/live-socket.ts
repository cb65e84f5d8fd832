/** One end of a WebSocket, as much of it as a call needs. `./node` and `@eventloom/cloudflare` make one of what their runtime has. */
export interface LiveSocket {
  /** Sends a frame: text or binary. After a close it does nothing. */
  send(frame: string | Uint8Array<ArrayBuffer>): void;
  /** Says that nothing more comes, and why. What was sent before arrives first. A second call does nothing. */
  close(code: number, reason: string): void;
  /** Asks the other end for a sign of life, in a way that needs no answer of the application. Absent where the runtime cannot. */
  ping?(): void;
  /** Lets frames wait at their sender, until `resume`. Absent where the runtime cannot. */
  pause?(): void;
  resume?(): void;
  /** True when `LiveSocketEvents.taken` is told of all that goes out. */
  readonly tellsTaken: boolean;
}

/** What a socket tells of its other end. */
export interface LiveSocketEvents {
  /** A frame came. The bytes are read before this returns. */
  message(frame: string | Uint8Array): void;
  /** So many bytes of what was sent are on their way, text counted in characters. */
  taken(size: number): void;
  /** A ping was answered. */
  pong(): void;
  /** The connection is over, whoever ended it. */
  closed(): void;
  /** Settles when the call is over and all that comes of it is stored. Never rejects. */
  readonly ended: Promise<void>;
}

/** What a server answers to who asks for a call. */
export interface LiveAdmission {
  /** The protocol to name in the handshake, of those that the request offers; undefined for none. */
  readonly protocol: string | undefined;
  /** Begins the call. One that is refused is told why, and closed: a web page sees nothing of a handshake that fails. */
  open(socket: LiveSocket): LiveSocketEvents;
}
