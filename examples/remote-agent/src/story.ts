import { serveHotel } from './hotel.ts';
import { tellTrip } from './tell-trip.ts';

interface Stage {
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

export const story = {
  isServed: true,
  async tell({ apiKey, print }: Stage): Promise<void> {
    const token = crypto.randomUUID();
    const server = await serveHotel({ apiKey, token, port: 0 });
    try {
      await tellTrip({ address: `${server.url}/a2a/hotel`, token, apiKey, print });
    } finally {
      await server.shutDown();
    }
  },
} as const;
