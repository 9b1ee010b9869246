import { defineModel, ModelError, perRequest } from 'weir/backend';
import { cutLine, lineTensors, pageOf } from '../../ocr_lines/1/page.ts';

const blankLine = { data: new Uint8Array(3 * 48 * 48).fill(255), width: 48, height: 48 };
const noBox = { left: 0, top: 0, right: 0, bottom: 0 };

export const model = defineModel({
  execute: perRequest(async (request, { parameters }) => {
    const page = pageOf(request);
    const { boxes } = page;
    const maxLines = Number(parameters.get('max_lines'));
    if (boxes.length > maxLines) {
      const advice = `expected no more than ${maxLines} lines of text, found ${boxes.length}: ask ocr_stream, which reads any number`;
      throw new ModelError(advice, 'INVALID_ARGUMENT');
    }
    if (boxes.length === 0) return { outputs: lineTensors([blankLine], [noBox]) };
    return { outputs: lineTensors(await Promise.all(boxes.map((box) => cutLine(page, box))), boxes) };
  }),
});
