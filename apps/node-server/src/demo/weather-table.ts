/** The weather of one city. */
export interface Weather {
  readonly celsius: number;
  readonly sky: string;
}

/** The weather by city. The values are invented, so that the same question always has the same answer. */
export const WEATHER: Readonly<Record<string, Weather>> = {
  Amsterdam: { celsius: 14, sky: 'drizzle' },
  Athens: { celsius: 27, sky: 'sunny' },
  Bangkok: { celsius: 33, sky: 'humid' },
  Barcelona: { celsius: 23, sky: 'sunny' },
  Beijing: { celsius: 19, sky: 'hazy' },
  Berlin: { celsius: 16, sky: 'cloudy' },
  'Buenos Aires': { celsius: 18, sky: 'clear' },
  Cairo: { celsius: 31, sky: 'sunny' },
  'Cape Town': { celsius: 17, sky: 'windy' },
  Chicago: { celsius: 12, sky: 'windy' },
  Delhi: { celsius: 34, sky: 'hazy' },
  Dublin: { celsius: 13, sky: 'rain' },
  Istanbul: { celsius: 21, sky: 'partly cloudy' },
  Lagos: { celsius: 30, sky: 'thunderstorms' },
  Lisbon: { celsius: 22, sky: 'sunny' },
  London: { celsius: 13, sky: 'rain' },
  Madrid: { celsius: 25, sky: 'clear' },
  'Mexico City': { celsius: 20, sky: 'partly cloudy' },
  Mumbai: { celsius: 32, sky: 'humid' },
  Nairobi: { celsius: 24, sky: 'clear' },
  'New York': { celsius: 15, sky: 'clear' },
  Oslo: { celsius: 6, sky: 'snow' },
  Paris: { celsius: 17, sky: 'cloudy' },
  Prague: { celsius: 15, sky: 'clear' },
  'Rio de Janeiro': { celsius: 28, sky: 'sunny' },
  Rome: { celsius: 24, sky: 'sunny' },
  'San Francisco': { celsius: 16, sky: 'fog' },
  Seoul: { celsius: 18, sky: 'clear' },
  Singapore: { celsius: 31, sky: 'thunderstorms' },
  Stockholm: { celsius: 8, sky: 'cloudy' },
  Sydney: { celsius: 22, sky: 'sunny' },
  Tokyo: { celsius: 20, sky: 'partly cloudy' },
  Toronto: { celsius: 10, sky: 'cloudy' },
  Vienna: { celsius: 16, sky: 'clear' },
  Warsaw: { celsius: 12, sky: 'rain' },
  Zurich: { celsius: 14, sky: 'clear' },
};
