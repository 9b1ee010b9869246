const missing = "Failed to initialize LocalCache: config didn't contain a valid 'size' field.";
const notANumber = "Failed to initialize LocalCache: 'size' config must be a string or uint type";

/**
 * The bytes that a local cache may take, from its setting.
 *
 * @throws Error with Triton's text when it is missing or no positive integer
 */
export const readSize = (setting: string | undefined): number => {
  if (setting === undefined || setting === '') throw new Error(missing);
  const size = /^\d+$/.test(setting) ? Number(setting) : 0;
  if (size === 0 || !Number.isSafeInteger(size)) throw new Error(`${notANumber}, got '${setting}'`);
  return size;
};
