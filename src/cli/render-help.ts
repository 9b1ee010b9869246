import { type Flag, flagGroups } from './flag.ts';
import { flags } from './flags.ts';

const width = 100;

const wrap = (text: string, indent: string): string => {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line !== indent && line.length + word.length + 1 > width) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
};

const usage = (flag: Flag): string => {
  if (flag.argument === '') return `--${flag.name}`;
  return `--${flag.name} ${flag.argument.startsWith('<') ? flag.argument : `<${flag.argument}>`}`;
};

/** What help adds about how far a flag goes. */
export const supportNote = (flag: Flag): string => {
  if (flag.support.kind === 'no effect') return `No effect: ${flag.support.reason}.`;
  if (flag.support.kind === 'built') return '';
  const { accepted } = flag.support;
  return `Not built yet${accepted[0] === undefined ? '' : `; accepted: ${accepted[0]}`}.`;
};

const renderFlag = (flag: Flag): string => {
  const text = [
    flag.description,
    flag.repeatable ? 'May be repeated.' : '',
    flag.default === '' ? '' : `Default: ${flag.default}.`,
    supportNote(flag),
  ];
  return `  ${usage(flag)}\n${wrap(text.filter((part) => part !== '').join(' '), '\t')}`;
};

/** The text of `--help`: every flag, under Triton's headings. */
export const renderHelp = (): string => {
  const groups = flagGroups.map((group) => {
    const own = flags.filter((flag) => flag.group === group);
    return `${group}:\n${own.map(renderFlag).join('\n')}`;
  });
  return `Usage: weir [serve] [options]\n\n${groups.join('\n\n')}\n`;
};
