/** The part of Express that the example uses. Its declarations are a package of their own, `@types/express`. */
declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  type Handler = (request: IncomingMessage, response: ServerResponse) => void;

  namespace express {
    interface Application {
      (request: IncomingMessage, response: ServerResponse): void;
      use(handler: Handler): Application;
      use(path: string, handler: Handler): Application;
      all(path: string, handler: Handler): Application;
      get(path: string, handler: Handler): Application;
    }
  }
  function express(): express.Application;
  namespace express {
    function json(): Handler;
  }
  export = express;
}
