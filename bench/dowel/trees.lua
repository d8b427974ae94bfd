-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
local function make(depth)
    if depth == 0 then return {} end
    return {left = make(depth - 1), right = make(depth - 1)}
end
local function count(t)
    if not t.left then return 1 end
    return 1 + count(t.left) + count(t.right)
end
local kept = make(16)
local sum = 0
for _ = 1, 20 do sum = sum + count(make(16)) end
print(sum + count(kept))
