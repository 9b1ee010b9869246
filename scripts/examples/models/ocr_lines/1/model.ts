import { defineModel } from 'weir/backend';
import { cutLine, lineTensors, pageOf } from './page.ts';

export const model = defineModel({
  async *execute(requests) {
    for (const request of requests) {
      const page = pageOf(request);
      // While nobody has room for another line the generator waits here, and is ended here when the caller has gone.
      for (const box of page.boxes) yield { request, outputs: lineTensors([await cutLine(page, box)], [box]) };
    }
  },
});
