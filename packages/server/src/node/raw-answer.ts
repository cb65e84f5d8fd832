import { errorBody } from '../http/error-body.ts';

/** An answer as bytes, for what never became a request of the HTTP server. The connection ends with it. */
export function rawAnswer(status: string, error: unknown): string {
  const body = JSON.stringify(errorBody(error));
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}
