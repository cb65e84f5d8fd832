import { Fifo, type LiveRequest } from '@eventloom/core';

/** What a model is still to be told of its calls. It outlives a connection, and holds what the runtime says, not what a client does. */
export class AnswerQueue extends Fifo<LiveRequest> {}
