/** The next place where any typed array can stand. */
export const alignUp = (offset: number): number => Math.ceil(offset / 8) * 8;
