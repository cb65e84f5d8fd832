import { ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there are no folders. @throws ConfigurationError */
export async function readTextFiles(_folder: string, _limits: object): Promise<{ readonly text: string }[]> {
  throw new ConfigurationError(
    'FilesRetrieval.create: needs Node; on Workers write new FilesRetrieval({ name, description, inputDir, retriever }) with a retriever of your own',
  );
}
