// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OBJECTS=N node --snapshot-blob FILE --build-snapshot heap.js: saves N objects of five references and seven numbers
// each. node --snapshot-blob FILE main prints a line; with an argument, the sum of the last numbers of all objects.

const { startupSnapshot } = require('v8');
const count = Number(process.env.OBJECTS);
const all = new Array(count);
for (let i = 0; i < count; i++)
    all[i] = { r0: null, r1: null, r2: null, r3: null, r4: null, n0: i, n1: 1, n2: 2, n3: 3, n4: 4, n5: 5, n6: i };
for (let i = 0; i < count; i++) {
    const item = all[i];
    item.r0 = all[(i * 7) % count];
    item.r1 = all[(i * 11) % count];
    item.r2 = all[(i * 13) % count];
    item.r3 = all[(i + 1) % count];
    item.r4 = all[(i + 64) % count];
}
startupSnapshot.setDeserializeMainFunction(() => {
    let sum = 0;
    if (process.argv.length > 2)
        for (const item of all)
            sum += item.n6;
    process.stdout.write(`${sum}\n`);
});
